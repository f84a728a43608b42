"""A process that has collected the tests of a stage, and forks for each mutant.

A mutant of a function's body is planted in the fork's memory too (``recoding.py``). What is read when modules are imported
(constants, decorators, what an import calls, the C module) has no such way: there a process collects anew what can find the
mutant. Programs that tests start find the changed file, and are forked from one server of ``tests/forkserver.py`` for all
mutants.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FunctionType
from typing import Any, NoReturn

import pytest

from tests import forkserver
from tools.mutants.processes import sweep, waited
from tools.mutants.recoding import adopt, functions_below, recoded
from tools.mutants.recording import FOLDER, Lines, Recorder, left_behind
from tools.mutants.rooms import Stage

__all__ = ["Ended", "Request", "Warm", "share_servers"]

_OURS = ("tools", "tests", "tdev", "tdev_core")  # the fork imports the tree's
_STARTS_PROCESSES = ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec")
_OPTIONS = ("-q", "-x", "--no-header", "--capture=sys", "-p", "no:cacheprovider")
_CHOSEN = ("-m", "not deep and not slow")


@dataclass(frozen=True)
class Request:
    """A request to a fork.

    Attributes:
        names: node ids in the order in which they are run; all where there are none.
        limit: seconds.
        path: file below the tree whose functions are to be those of the file as it is now; empty for none.
        before: what the file was when the tests were collected.
        records: whether to run all to the end, and record what each executes.
        each: seconds after which one of these is given up.
    """

    names: list[str]
    limit: float
    path: str = ""
    before: str = ""
    records: bool = False
    each: float | None = None


@dataclass
class Ended:
    """The end of a fork.

    Attributes:
        status: the exit status; None where it took too long.
        seconds: by the wall's clock.
        tests: of each test whether it passed, how long it took, and what a record has of it.
        failed: what the first failure says.
        test: which test failed first.
        unable: the functions cannot be changed in memory; nothing was run.
    """

    status: int | None = None
    seconds: float = 0.0
    tests: dict[str, dict[str, Any]] = field(default_factory=dict)
    failed: str = ""
    test: str = ""
    unable: bool = False


class Warm:
    """The process and the way to it."""

    def __init__(
        self,
        tree: Path,
        stage: Stage,
        log: Path,
        *,
        tests: Iterable[str] = (),
        patience: float = 600,
    ) -> None:
        """Start it and wait until it has collected ``tests``, those of the stage where there are none.

        Raises:
            RuntimeError: nothing can be collected.
            TimeoutError: nothing was collected within ``patience`` seconds.
        """
        self.tree, self.stage = tree, stage
        ours, theirs = socket.socketpair()
        log.parent.mkdir(parents=True, exist_ok=True)
        self._pid = os.fork()
        if self._pid == 0:
            ours.close()
            _serve(tree, stage, list(tests) or list(stage.tests), theirs, log)
        theirs.close()
        ready, _, _ = select.select([ours], [], [], patience)
        self._file = ours.makefile("rw", encoding="utf-8")
        ours.close()
        line = self._file.readline() if ready else ""
        if not line:
            self.close()
            if not ready:
                raise TimeoutError(f"nothing was collected in {patience:.0f} s: {stage.tests}")
            raise RuntimeError(f"nothing was collected: {log.read_text(errors='replace')[-3000:]}")
        told = json.loads(line)
        self.names: list[str] = told["names"]
        self.imported: Lines = {p: int(bits, 16) for p, bits in told["imported"].items()}

    def run(self, request: Request) -> Ended:
        """Have a fork do it, and wait."""
        self._file.write(json.dumps(asdict(request)) + "\n")
        self._file.flush()
        line = self._file.readline()
        if not line:
            raise RuntimeError("the process that has collected the tests has ended")
        return Ended(**json.loads(line))

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(OSError, AttributeError):
            self._file.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def share_servers(*preloads: tuple[str, ...]) -> None:
    """Start the fork servers that all forks of this process use, by what they import beside torch."""
    os.environ["OMP_NUM_THREADS"] = "1"
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")  # as tests/conftest.py has it
    for preload in preloads:
        forkserver._server(preload)


# -- the process itself ----------------------------------------------------------------------------


def _serve(tree: Path, stage: Stage, tests: list[str], way: socket.socket, log: Path) -> NoReturn:
    """Be a process that has the tree, and no other, on its path, and run pytest in it."""
    status = 1
    try:
        os.setsid()
        # What a test leaves behind becomes this process's child, not the system's.
        ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
        number = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
        os.dup2(number, 1)
        os.dup2(number, 2)
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))
        os.chdir(tree)
        paths = [str(tree / "generated"), str(tree)]
        for name in [name for name in os.environ if name.startswith("TDEV_")]:
            del os.environ[name]
        os.environ.update({**stage.settings, "PYTHONPATH": os.pathsep.join(paths)})
        root = str(Path(__file__).resolve().parents[2])
        mine = {root, root + "/generated", "", os.getcwd()}
        sys.path[:] = [*paths, *(path for path in sys.path if path not in mine)]
        for name in [name for name in sys.modules if name.split(".")[0] in _OURS]:
            del sys.modules[name]
        sys.modules.pop("sitecustomize", None)
        plugin = _Plugin(tree, way)
        status = int(pytest.main([*_OPTIONS, *_CHOSEN, *tests], plugins=[plugin]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class _Plugin:
    """A pytest plugin that stands between collecting and running: there it forks."""

    def __init__(self, tree: Path, way: socket.socket) -> None:
        self._tree = tree
        self._file = way.makefile("rw", encoding="utf-8")
        way.close()
        self._recorder = Recorder(str(tree))
        self._functions: dict[str, list[FunctionType]] = {}
        self._servers = dict(forkserver._servers)
        self._results = -1
        self._request = Request([], 0)
        self._folder = ""
        self._starts = 0
        self._recorder.start()  # from the first import on: pytest imports conftests before its session begins

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Fork for each request; a fork goes on with pytest's own loop."""
        self._recorder.stop()
        imported = {path: f"{bits:x}" for path, bits in self._recorder.taken().items()}
        items = {item.nodeid: item for item in session.items}
        if session.testsfailed or not items:
            return None
        self._functions = functions_below(str(self._tree))
        with contextlib.suppress(OSError):
            if len(os.listdir("/proc/self/task")) > 1:
                print("collecting has started threads, which no fork has", file=sys.stderr)
        gc.collect()
        gc.freeze()  # or each fork's first collection would copy all of torch's objects
        self._tell({"names": list(items), "imported": imported})
        for line in self._file:
            request = Request(**json.loads(line))
            folder, results = tempfile.mkdtemp(), tempfile.TemporaryFile()
            begun = time.monotonic()
            pid = os.fork()
            if pid == 0:
                self._become(session, items, request, folder, results.fileno())
                return None
            ended = Ended(waited(pid, request.limit))
            sweep([server.process.pid for server in self._servers.values()])
            ended.seconds = round(time.monotonic() - begun, 2)
            with results:
                results.seek(0)
                for told in results.read().splitlines():
                    with contextlib.suppress(ValueError):  # the end of a line may be missing
                        _note(ended, json.loads(told))
            shutil.rmtree(folder, ignore_errors=True)
            self._tell(asdict(ended))
        return True

    def _tell(self, body: object) -> None:
        self._file.write(json.dumps(body) + "\n")
        self._file.flush()

    # -- in a fork -----------------------------------------------------------------------------

    def _become(
        self,
        session: pytest.Session,
        items: dict[str, pytest.Item],
        request: Request,
        folder: str,
        results: int,
    ) -> None:
        os.setsid()
        self._request, self._folder, self._results = request, folder, os.dup(results)
        theirs = sys.modules.get("tests.forkserver")
        if theirs is not None:
            for (_, preload), server in self._servers.items():
                theirs._servers[os.getpid(), preload] = server
        sim: Any = sys.modules.get("tdev_core.accelerators.sim.fallback")
        if sim is not None:
            sim.forked = False  # tests may have made tensors while they were collected; no thread has computed them
        if request.path and not self._replaced(request):
            self._write({"unable": True})
            os._exit(0)
        session.items = [items[name] for name in request.names if name in items]
        if not request.names:
            session.items = list(items.values())
        if request.records:
            session.config.option.maxfail = 0
            os.environ[FOLDER] = folder
            sys.addaudithook(self._audited)
            for item in session.items if request.each else ():
                item.add_marker(pytest.mark.timeout(request.each))

    def _replaced(self, request: Request) -> bool:
        """Give the functions of the changed file the code that it has now."""
        path = self._tree / request.path
        catalog = sys.modules.get("tests.catalog")
        if catalog is not None and request.path.startswith("generated/"):
            # the tests have parts of the one they have read
            new = json.loads((self._tree / "catalog.json").read_text(encoding="utf-8"))
            adopt(catalog.catalog(), catalog.of_installed(new))
        now = path.read_text(encoding="utf-8")
        return recoded(self._functions.get(str(path), []), str(path), request.before, now)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Record one test."""
        if not self._request.records:
            return (yield)
        self._starts = 0
        self._recorder.taken()
        self._recorder.start()
        begun = time.perf_counter()
        try:
            return (yield)
        finally:
            self._recorder.stop()
            seconds = round(time.perf_counter() - begun, 4)
            programs = left_behind(self._folder)
            lines = self._recorder.taken()
            for one in programs:
                for path, bits in one.items():
                    lines[path] = lines.get(path, 0) | bits
            self._write(
                {
                    "id": item.nodeid,
                    "seconds": seconds,
                    "starts": self._starts > len(programs),
                    "lines": {path: f"{bits:x}" for path, bits in lines.items()},
                }
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Tell the process that forked."""
        if report.when == "call" and report.passed:
            self._write({"id": report.nodeid, "passed": True})
        elif report.skipped:
            self._write({"id": report.nodeid, "passed": False})
        elif report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            words = " ".join(str(getattr(crash, "message", report.longrepr)).split())
            self._write({"id": report.nodeid, "passed": False, "failed": words[:160]})

    def _write(self, body: object) -> None:
        if self._results >= 0:
            os.write(self._results, json.dumps(body).encode() + b"\n")

    def _audited(self, event: str, _: object) -> None:
        self._starts += event in _STARTS_PROCESSES


def _note(ended: Ended, told: dict[str, Any]) -> None:
    if told.pop("unable", False):
        ended.unable = True
        return
    name = told.pop("id")
    failed = told.pop("failed", "")
    if failed and not ended.failed:
        ended.test, ended.failed = name, f"FAILED {name} - {failed}"
    if told.get("passed") and name in ended.tests and not ended.tests[name].get("passed", True):
        del told["passed"]  # its teardown failed, or its setup
    ended.tests.setdefault(name, {}).update(told)
