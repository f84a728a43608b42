"""Interrupts, two runs at once, and many files."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import psutil
import pytest

from tdev_core.codemod.cli import main
from tdev_core.codemod.engine import Options, ProgramTree
from tdev_core.codemod.jobs.pool import Pool, result_of
from tdev_core.codemod.jobs.process import Job
from tdev_core.codemod.model import Kind, Outcome
from tests.codemod.conftest import AFTER, BEFORE, Ran

# Interrupts are ignored in what is started from a shell's background job, and so in these tests.
MAIN = (
    "import signal, sys\nfrom tdev_core.codemod.cli import main\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "sys.exit(main(sys.argv[1:], engine='tests.codemod.small_engine'))\n"
)


def start(place: Path, *arguments: str) -> subprocess.Popen[bytes]:
    root = str(Path(__file__).resolve().parents[2])
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments],
        cwd=place,
        env={**os.environ, "PYTHONPATH": root},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_interrupt_half_way_leaves_every_file_old_or_new(tmp_path: Path) -> None:
    names = [f"f{index:02}.py" for index in range(30)]
    for name in names:
        (tmp_path / name).write_bytes(BEFORE)
    (tmp_path / "f20.py").write_bytes(BEFORE + b"# SLEEP\n")
    run = start(tmp_path, "--jobs", "1", ".")
    wait_for(lambda: (tmp_path / "f19.py").read_bytes() == AFTER)
    workers = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=20)
    assert run.returncode == 130
    assert b"interrupted; 20 files rewritten" in err and b"Traceback" not in err
    contents = [(tmp_path / name).read_bytes() for name in names]
    assert contents[:20] == [AFTER] * 20 and contents[21:] == [BEFORE] * 9
    assert sorted(p.name for p in tmp_path.iterdir()) == names
    assert len(workers) == 1 and not psutil.wait_procs(workers, timeout=5)[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_an_idle_worker_does_not_outlive_a_run_that_is_killed(
    tmp_path: Path, number: signal.Signals
) -> None:
    (tmp_path / "a.py").write_bytes(BEFORE)
    (tmp_path / "b.py").write_bytes(b"torch SLEEP")
    run = start(tmp_path, "--jobs", "2", ".")
    wait_for(lambda: (tmp_path / "a.py").read_bytes() == AFTER)
    workers = psutil.Process(run.pid).children(recursive=True)
    run.send_signal(number)
    run.wait(timeout=20)
    # The other one is in the middle of a file and would end with it.
    count = 2 if number is signal.SIGTERM else 1
    wait_for(lambda: len(psutil.wait_procs(workers, timeout=0)[0]) == count)
    ended, busy = psutil.wait_procs(workers, timeout=0)
    for process in busy:
        process.kill()
    assert run.stdout is not None and run.stderr is not None
    said = run.stderr.read()
    for pipe in (run.stdout, run.stderr):
        pipe.close()
    assert b"Traceback" not in said
    if number is signal.SIGTERM:
        assert (len(ended), len(busy)) == (2, 0)
        assert run.returncode == 143 and b"terminated; 1 file rewritten" in said
    else:
        assert (len(ended), len(busy)) == (1, 1)
    assert (tmp_path / "b.py").read_bytes() == b"torch SLEEP"


def test_a_worker_whose_reader_is_gone_ends_without_a_word(tmp_path: Path) -> None:
    """A run that is killed outright leaves its busy worker with an answer for nobody."""
    root = str(Path(__file__).resolve().parents[2])
    engine = "tests.codemod.small_engine"
    code = f"from tdev_core.codemod.jobs.worker import main; main({engine!r})"
    worker = subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": root},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert worker.stdin is not None and worker.stdout is not None and worker.stderr is not None
    worker.stdout.close()
    pickle.dump(Job("a.py", Kind.PYTHON, BEFORE, Options()), worker.stdin)
    worker.stdin.write(b"\x80\x04cut off")
    worker.stdin.close()
    assert worker.stderr.read() == b"" and worker.wait() == 0


def test_the_files_counted_are_the_files_written(
    place: Path, codemod: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An interrupt that comes while a file is replaced is heeded once that file is counted."""
    for index in range(4):
        (place / f"f{index}.py").write_bytes(BEFORE)
    replaced, old = [], signal.signal(signal.SIGINT, signal.default_int_handler)
    os_replace = os.replace

    def interrupted(source: str, target: str) -> None:
        os_replace(source, target)
        replaced.append(target)
        if len(replaced) == 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, "replace", interrupted)
    try:
        ran = codemod(".")
    finally:
        signal.signal(signal.SIGINT, old)
    assert ran.status == 130 and "interrupted; 2 files rewritten" in ran.err
    assert "rewrote f1.py" in ran.err
    assert [(place / f"f{i}.py").read_bytes() == AFTER for i in range(4)] == [1, 1, 0, 0]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals go to processes here")
@pytest.mark.timeout(60)
def test_an_interrupt_that_does_not_wake_the_waiting_thread_ends_the_wait() -> None:
    def interrupt() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    never: Future[Outcome] = Future()
    sender = threading.Timer(0.1, interrupt)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            sender.start()
            result_of(never)
        sender.join()
    finally:
        signal.signal(signal.SIGINT, before)


def test_two_runs_at_once_come_to_the_same(tmp_path: Path) -> None:
    names = [f"f{index:03}.py" for index in range(150)]
    for name in names:
        (tmp_path / name).write_bytes(BEFORE)
    runs = [start(tmp_path, "--jobs", "1", ".") for _ in range(2)]
    said = [run.communicate(timeout=60)[1].decode() for run in runs]
    assert [run.returncode for run in runs] == [0, 0], said
    assert [(tmp_path / name).read_bytes() for name in names] == [AFTER] * len(names)
    assert sorted(p.name for p in tmp_path.iterdir()) == names


def test_ten_thousand_files_in_order(place: Path, codemod: Callable[..., Ran]) -> None:
    concerned = []
    for index in range(10_000):
        directory = place / f"d{index // 500:02}"
        directory.mkdir(exist_ok=True)
        name = f"{directory.name}/f{index:05}.py"
        if index % 100 == 0:
            concerned.append(name)
        (place / name).write_bytes(BEFORE if index % 100 == 0 else b"x = 1\n")
    ran = codemod("--check", "--verbose", ".")
    assert ran.status == 1
    assert [line.partition(":")[0] for line in ran.out.splitlines()[::2]] == concerned
    assert "100 files would be rewritten, 9,900 files unchanged." in ran.err


def test_the_result_is_the_same_with_any_number_of_workers(
    place: Path, codemod: Callable[..., Ran]
) -> None:
    for index in range(40):
        (place / f"f{index:02}.py").write_bytes(BEFORE + b"# x\n" * (40 - index) * 20)
    one, three = codemod("--diff", "."), codemod("--jobs", "3", "--diff", ".")
    assert one == three and one.out.count("+++ b/") == 40


def test_each_worker_that_dies_costs_one_file(place: Path, codemod: Callable[..., Ran]) -> None:
    """Also the one that the others were made of, whose place a new one takes."""
    for index in range(30):
        (place / f"f{index:02}.py").write_bytes(b"torch # DIE\n" if index % 10 == 5 else BEFORE)
    ran = codemod("--jobs", "2", ".")
    assert ran.status == 2 and ran.err.count("the worker process died on it") == 3
    left = [index for index in range(30) if (place / f"f{index:02}.py").read_bytes() != AFTER]
    assert left == [5, 15, 25]


@pytest.mark.parametrize(("size", "workers"), [(0, 1), (1 << 20, 2)])
def test_a_worker_is_started_where_there_is_that_much_to_do(
    place: Path,
    monkeypatch: pytest.MonkeyPatch,
    size: int,
    workers: int,
) -> None:
    """Each takes as long to start as it takes for half a megabyte, on however many processors."""
    for index in range(8):
        (place / f"f{index}.py").write_bytes(BEFORE)
    (place / "f8.py").write_bytes(BEFORE + b"# x\n" * (size // 8))
    monkeypatch.setattr("tdev_core.codemod.jobs.runner.default_jobs", lambda: 8)
    made: list[int] = []
    pool = Pool.__init__

    def counted(self: Pool, jobs: int, engine: str, tree: ProgramTree) -> None:
        made.append(jobs)
        pool(self, jobs, engine, tree)

    monkeypatch.setattr(Pool, "__init__", counted)
    (place / "pyproject.toml").write_text("")
    main([".", "--quiet"], engine="tests.codemod.small_engine")
    assert made == [workers]


def test_a_terminal_gets_a_bar_and_a_file_does_not(place: Path) -> None:
    pty = pytest.importorskip("pty", reason="no terminals of this kind on this system")
    (place / "a.py").write_bytes(BEFORE)
    leader, follower = pty.openpty()
    run = subprocess.Popen(
        [sys.executable, "-c", MAIN, "--check", "."],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(__file__).resolve().parents[2]),
            "TERM": "xterm",
            "COLUMNS": "100",
        },
        stdout=subprocess.PIPE,
        stderr=follower,
    )
    os.close(follower)
    out = run.communicate(timeout=60)[0]
    shown = b""
    try:
        while chunk := os.read(leader, 65536):
            shown += chunk
    except OSError:  # the other end is closed: all has been read
        pass
    os.close(leader)
    assert b"files" in shown and b"1/1" in shown and b"\x1b[" in shown
    assert b"\x1b[" not in out and out.startswith(b"a.py:1:13 imports")
    quiet = start(place, "--check", ".")
    assert b"\x1b[" not in quiet.communicate(timeout=60)[1]
