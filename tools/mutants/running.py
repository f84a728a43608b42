"""Runs tests of a tree in forks of this process, which has imported torch and nothing of tdev.

First the room's tests once, as they are: how long each takes, which functions each enters, which fail (these are left
out), and which start processes, of which nobody sees what they enter. Then for each mutant those that can find it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NoReturn

import pytest

from tools.mutants.rooms import Stage

__all__ = ["Baseline", "Outcome", "Witness", "baseline", "first_failure"]

_STARTS_PROCESSES = ("subprocess.Popen", "os.fork", "os.posix_spawn", "os.exec")
PROCESSES = 20.0
"""Seconds for tests of which nobody knows whether they see a mutant, as it happens in processes that they start."""
_OURS = ("tools", "tests", "tdev", "tdev_core")  # the fork imports the tree's
_OPTIONS = ("-q", "-x", "--no-header", "-p", "no:cacheprovider", "-m", "not deep and not slow")


@dataclass
class Witness:
    """What one test did where nothing was planted."""

    seconds: float = 0.0
    passed: bool = True
    starts: bool = False
    entered: list[str] = field(default_factory=list)  # path:first line


@dataclass
class Baseline:
    """Tests of one stage, by node id, and what was entered while they were collected."""

    tests: dict[str, Witness]
    collecting: list[str]

    def able(self, path: str, entered: int) -> list[str]:
        """Return the tests that can see a change in a function: they enter it, or start processes that may.

        A change outside functions (``entered`` is 0) shows in whatever uses the file. Of tests that only start
        processes there are as many as take :data:`PROCESSES`, the fastest.
        """
        where = f"{path}:{entered}" if entered else f"{path}:"
        passed = {name: test for name, test in self.tests.items() if test.passed}
        if not path.endswith(".py"):
            return list(passed)

        def here(places: list[str]) -> bool:
            return any(one == where if entered else one.startswith(where) for one in places)

        if here(self.collecting):
            names = [name for name, test in passed.items() if not test.starts]
        else:
            names = [name for name, test in passed.items() if here(test.entered)]
        left = PROCESSES
        for name in sorted(passed.keys() - set(names), key=lambda one: passed[one].seconds):
            if passed[name].starts and (left := left - passed[name].seconds) > 0:
                names.append(name)
        return names


@dataclass(frozen=True)
class Outcome:
    """How one stage ended: ``by`` says by what the fault was found, and is empty where it was not."""

    by: str
    seconds: float
    tests: int


def baseline(tree: Path, stage: Stage, limit: float, kept: Path) -> Baseline:
    """Run all tests of a stage and record what they do; as ``kept`` has it where the tree is the same."""
    digest = _digest(tree, stage)
    with contextlib.suppress(OSError, ValueError, KeyError):
        data = json.loads(kept.read_text(encoding="utf-8"))
        if data["digest"] == digest:
            return _of(data)
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder, "answer.json")
        recorder = _Recorder(tree, answer)
        ended, printed = _forked(tree, stage, stage.tests, [recorder], limit, stop=False)
        data = json.loads(answer.read_text(encoding="utf-8")) if answer.exists() else {}
        if not data.get("tests"):
            raise RuntimeError(f"{stage.tests} end with {ended} as they are: {printed[-2000:]}")
    kept.write_text(json.dumps({**data, "digest": digest}), encoding="utf-8")
    return _of(data)


def _of(data: dict[str, Any]) -> Baseline:
    tests = {name: Witness(**test) for name, test in data["tests"].items()}
    return Baseline(tests, data["collecting"])


def _digest(tree: Path, stage: Stage) -> str:
    """Tell whether tests and sources are those of another time."""
    found = hashlib.sha256(repr((stage, sys.version)).encode())
    paths = [*(tree / "tests").glob("*.py")]
    for place in ("tdev_core", "generated", *(test.split("::")[0] for test in stage.tests)):
        paths += [tree / place] if (tree / place).is_file() else (tree / place).rglob("*")
    for path in sorted(paths):
        if path.suffix in (".py", ".c", ".toml") and "__pycache__" not in path.parts:
            found.update(path.read_bytes())
    return found.hexdigest()


def first_failure(tree: Path, stage: Stage, known: Baseline, names: list[str]) -> Outcome:
    """Run ``names``, fastest files and tests first, until one fails."""
    if not names:
        return Outcome("", 0.0, 0)
    by_file: dict[str, list[str]] = {}
    for name in sorted(names, key=lambda one: known.tests[one].seconds):
        by_file.setdefault(name.split("::")[0], []).append(name)
    files = sorted(
        by_file, key=lambda file: _mean(known.tests[one].seconds for one in by_file[file])
    )
    order = [name for file in files for name in by_file[file]]
    expected = sum(known.tests[name].seconds for name in order)
    chooser = _Chooser(order)
    begun = time.monotonic()
    ended, printed = _forked(tree, stage, files, [chooser], 20 + 4 * expected)
    by = "" if ended == 0 or ended == 5 else _reason(ended, printed)
    return Outcome(by, round(time.monotonic() - begun, 2), len(order))


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def _reason(ended: int | None, printed: str) -> str:
    if ended is None:
        return "no end in time"
    for line in printed.splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line[:200]
    return f"signal {-ended}" if ended < 0 else f"pytest ends with {ended}"


def _forked(
    tree: Path,
    stage: Stage,
    tests: Iterable[str],
    plugins: list[object],
    limit: float,
    *,
    stop: bool = True,
) -> tuple[int | None, str]:
    """Run pytest in a fork with a session of its own; its status, None if it was ended, and what it printed."""
    with tempfile.TemporaryFile() as output:
        pid = os.fork()
        if pid == 0:
            _child(tree, stage, list(tests), plugins, output.fileno(), stop)
        until = time.monotonic() + limit
        status: int | None = None
        pause = 0.01
        while time.monotonic() < until:
            done, code = os.waitpid(pid, os.WNOHANG)
            if done:
                status = os.waitstatus_to_exitcode(code)
                break
            time.sleep(pause)
            pause = min(0.1, pause * 1.5)
        try:
            os.killpg(pid, signal.SIGKILL)  # and what the tests have left behind
        except ProcessLookupError:
            pass
        if status is None:
            os.waitpid(pid, 0)
        output.seek(0)
        return status, output.read().decode("utf-8", "replace")


def _child(
    tree: Path, stage: Stage, tests: list[str], plugins: list[object], output: int, stop: bool
) -> NoReturn:
    """Be a process that has the tree, and no other, on its path, and run pytest in it."""
    status = 1
    try:
        os.setsid()
        os.dup2(output, 1)
        os.dup2(output, 2)
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))
        os.chdir(tree)
        paths = [str(tree / "generated"), str(tree)]
        for name in [name for name in os.environ if name.startswith("TDEV_")]:
            del os.environ[name]
        os.environ.update(
            {**stage.settings, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
        )
        root = str(Path(__file__).resolve().parents[2])
        mine = {root, root + "/generated", "", os.getcwd()}
        sys.path[:] = [*paths, *(path for path in sys.path if path not in mine)]
        for name in [name for name in sys.modules if name.split(".")[0] in _OURS]:
            del sys.modules[name]
        options = [option for option in _OPTIONS if stop or option != "-x"]
        status = int(pytest.main([*options, *tests], plugins=plugins))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class _Chooser:
    """A pytest plugin that keeps the wanted tests and runs them in the wanted order."""

    def __init__(self, order: list[str]) -> None:
        self._place = {name: number for number, name in enumerate(order)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Choose and sort."""
        kept = [item for item in items if item.nodeid in self._place]
        items[:] = sorted(kept, key=lambda item: self._place[item.nodeid])


class _Recorder:
    """A pytest plugin that writes down what each test takes, enters and starts."""

    def __init__(self, tree: Path, answer: Path) -> None:
        self._root = str(tree) + os.sep
        self._core = (self._root + "tdev_core", self._root + "generated")
        self._answer = answer
        self._tests: dict[str, Witness] = {}
        self._codes: dict[int, CodeType] = {}  # the hash of a code object is that of all it holds
        self._starts = False
        self._collecting: list[str] = []

    def pytest_sessionstart(self) -> None:
        """Look at calls from the first import on."""
        sys.addaudithook(self._audited)
        threading.setprofile(self._called)
        sys.setprofile(self._called)

    def pytest_collection_finish(self) -> None:
        """Keep what importing has entered."""
        self._collecting = self._entered()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Record one test."""
        self._codes.clear()
        self._starts = False
        test = self._tests[item.nodeid] = Witness()
        sys.setprofile(self._called)
        begun = time.perf_counter()
        try:
            return (yield)
        finally:
            test.seconds = round(time.perf_counter() - begun, 4)
            test.starts, test.entered = self._starts, self._entered()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note whether it passed; a test that is skipped finds nothing."""
        if not report.passed:
            self._tests[report.nodeid].passed = False

    def pytest_sessionfinish(self) -> None:
        """Write it all."""
        sys.setprofile(None)
        tests = {name: asdict(test) for name, test in self._tests.items()}
        body = {"tests": tests, "collecting": self._collecting}
        self._answer.write_text(json.dumps(body), encoding="utf-8")

    def _called(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            code = frame.f_code
            self._codes[id(code)] = code

    def _audited(self, event: str, _: object) -> None:
        if event in _STARTS_PROCESSES:
            self._starts = True

    def _entered(self) -> list[str]:
        cut = len(self._root)
        codes = list(self._codes.values())  # threads may add to it
        for code in codes:
            if code.co_filename.endswith("tests/forkserver.py") and code.co_name == "start":
                self._starts = True
        return sorted(
            f"{code.co_filename[cut:]}:{code.co_firstlineno}"
            for code in codes
            if code.co_filename.startswith(self._core) and code.co_name != "<module>"
        )
