"""Workers speed things up and change nothing: not the answers, not the errors, not how a run ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

import pytest

from generator.errors import GenerationError
from generator.facts import library
from generator.facts.library import Library
from generator.facts.sources import read_if_source
from generator.running import workers

ROOT = Path(__file__).parents[2]


def fail(text: str) -> None:
    raise GenerationError(text)


def test_an_error_in_a_worker_is_the_same_here() -> None:
    with workers.pool(1) as pool:
        with pytest.raises(GenerationError, match="^torch.toml: a typo$"):
            pool.submit(fail, "torch.toml: a typo").result()


def test_portions_keep_the_order_and_end_where_they_are_full() -> None:
    sized = [("a", 3), ("b", 3), ("c", 1), ("d", 9), ("e", 1)]
    assert list(workers.chunks(sized, 5)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(workers.chunks([], 5)) == []


@pytest.mark.skipif(sys.platform != "linux", reason="asks for the processors that Linux grants")
def test_one_processor_has_no_use_for_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__spec__", object())
    for granted, expected in ((1, 0), (2, 2), (500, 16)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, n=granted: set(range(n)))
        assert workers.available() == expected


def test_a_script_that_workers_would_run_again_gets_none(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("from generator.running.workers import available\nprint(available())\n")
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True)
    assert done.stdout.strip() == "0", done.stderr


BUSY = """
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
from generator.running.workers import pool
with pool(2) as workers:
    pids = {workers.submit(os.getpid).result() for _ in range(20)}
    waiting = [workers.submit(time.sleep, 1) for _ in range(40)]
    try:
        print(*pids, flush=True)
        waiting[-1].result()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


@pytest.mark.skipif(sys.platform == "win32", reason="sends signals as POSIX has them")
@pytest.mark.parametrize("how", ["interrupt", "kill"])
def test_no_worker_outlives_the_process_that_started_it(how: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        assert parent.stdout is not None
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        if how == "interrupt":
            os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: to all of them
        else:
            parent.kill()
        out, err = parent.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert pids and not any(map(alive, pids))
    assert "Traceback" not in err
    if how == "interrupt":
        assert (parent.returncode, out.strip(), err) == (0, "interrupted", "")


class Now(Executor):
    """Does at once what it is given, as a process would."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_running_or_notify_cancel()
        future.set_result(fn(*args, **kwargs))
        return future


class Never(Executor):
    """Has not begun with anything, or has lost its process."""

    def __init__(self, lost: bool) -> None:
        self.lost = lost

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        if self.lost:
            future.set_running_or_notify_cancel()
            future.set_exception(BrokenExecutor("killed"))
        return future


def files(monkeypatch: pytest.MonkeyPatch, *modules: str) -> list[Any]:
    found = [library._find(module, ".py") for module in modules]
    monkeypatch.setattr(library, "_files", lambda: tuple(found))
    return found


@pytest.mark.parametrize("pool", [Now(), Never(lost=False), Never(lost=True), None])
def test_a_source_is_the_same_whoever_reads_it(
    pool: Executor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = files(monkeypatch, "torch.hub")
    expected = read_if_source(*file)
    assert expected is not None and "load" in expected.functions
    known = Library(pool)
    assert known.source(*file) == expected
    assert known.source(*file) is known.source(*file)


def test_what_public_modules_import_is_read_ahead_too(monkeypatch: pytest.MonkeyPatch) -> None:
    files(monkeypatch, "torch.serialization")
    known = Library(Now())
    monkeypatch.setattr(library, "read_if_source", lambda *file: None)
    ahead = {file.module for file in known._ahead}
    # serialization.py takes a function from there; public modules are somebody else's portion.
    assert {"torch.serialization", "torch._sources"} <= ahead
    assert not any(
        library._is_public(file) for file in known._ahead if file.module != "torch.serialization"
    )
    sources = library._find("torch._sources", ".py")
    assert sources is not None and known.source(*sources) is not None


def test_checkers_read_the_stub_before_the_source() -> None:
    known = Library()
    functional = known.checked("torch.nn.functional")
    assert functional is not None and functional.by_line != {}
    path = library._find("torch.nn.functional", ".pyi")
    assert path is not None and known.source(*path) is functional
    assert known.checked("numpy.random") is None and known.checked("torch.no_such") is None
    assert known.visible("torch.no_such") == frozenset()
    assert "torch.nn.functional" in known.stubs() and "torch._C" in known.stubs()
