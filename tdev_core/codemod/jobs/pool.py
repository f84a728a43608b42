"""Starts worker processes, and yields results in the order of the jobs.

Workers are plain subprocesses rather than ``multiprocessing`` ones for two reasons. A spawned
``multiprocessing`` child imports the parent's main module again, which is ``tdev.codemod`` and with
it torch. And a parser written in C or Rust can end its process on a hostile file: here that costs
the one file, and the next job gets a new worker. Where processes can fork, those of a run share the
start of one: to read libcst and the rules takes a third of a second each time.
"""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from tdev_core.codemod.engine import ProgramTree
from tdev_core.codemod.jobs.process import ENGINE, Job
from tdev_core.codemod.model import Outcome, Status

_WAKE = 0.25
_AHEAD_JOBS = 256
_AHEAD_BYTES = 64 * 1024 * 1024
_BOOT = """\
import gc, json, sys
gc.disable()
sys.path += [p for p in json.loads(sys.argv[1]) if p not in sys.path]
from tdev_core.codemod.jobs.worker import main
main(sys.argv[2], *map(int, sys.argv[3:]))
"""


def result_of(future: Future[Outcome]) -> Outcome:
    """Wait for a result; Ctrl-C ends the wait within a moment.

    A signal that comes just before a thread blocks, or that another thread gets, does not wake it: it
    would be heeded only when the file is done with.
    """
    while not (future.done() or wait([future], _WAKE).done):
        pass
    return future.result()


def default_jobs() -> int:
    """As many workers as this process may use processors."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class _Worker:
    """The ends of one worker's pipes that are ours; it ends when they are closed."""

    jobs: BinaryIO
    answers: BinaryIO

    def close(self) -> None:
        for pipe in (self.jobs, self.answers):
            with suppress(BrokenPipeError):  # it held a request that nobody will read any more
                pipe.close()


class Pool:
    """``jobs`` workers, started when the first job needs them. Close it, or use ``with``.

    Each is told of ``tree`` once, in place of the options of every job: it may be larger than most files.
    """

    def __init__(self, jobs: int, engine: str = ENGINE, tree: ProgramTree | None = None) -> None:
        self._engine = engine
        self._tree = tree
        self._local = threading.local()
        self._lock = threading.Lock()
        self._processes: list[subprocess.Popen[bytes]] = []
        self._workers: list[_Worker] = []
        self._idle: list[_Worker] = []
        """Those of them that no thread has taken yet."""
        self._first = jobs if hasattr(os, "fork") else 1
        """The number of workers to start at once: all of them; what takes one's place later comes by itself."""
        self._closed = False
        self._threads = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.kill()
        self.close()

    def map(self, jobs: Iterable[Job]) -> Generator[Outcome, None, None]:
        """Yield the outcome of each job, in the order of the jobs, which are drawn only a little ahead."""
        waiting: deque[tuple[Future[Outcome], int]] = deque()
        ahead = 0
        for job in jobs:
            waiting.append((self._threads.submit(self._answer, job), len(job.raw)))
            ahead += len(job.raw)
            while waiting and (
                waiting[0][0].done() or len(waiting) > _AHEAD_JOBS or ahead > _AHEAD_BYTES
            ):
                future, size = waiting.popleft()
                ahead -= size
                yield result_of(future)
        for future, _ in waiting:
            yield result_of(future)

    def kill(self) -> None:
        """End the workers at once, and start no others: what they were doing comes to nothing."""
        with self._lock:
            self._closed = True
            for process in self._processes:
                if os.name != "posix":
                    process.kill()
                elif process.returncode is None:  # its group, with those that it has forked
                    with suppress(ProcessLookupError, PermissionError):
                        os.killpg(process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Wait until the workers have ended, as they do when they are idle and nothing more can come."""
        with self._lock:
            self._closed = True
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in self._workers:
            worker.close()
        for process in self._processes:
            process.wait()

    def _answer(self, job: Job) -> Outcome:
        worker: _Worker | None = getattr(self._local, "worker", None)
        told = worker is not None
        if worker is None:
            worker = self._local.worker = self._take()
        try:
            if not told:
                pickle.dump(self._tree, worker.jobs)
            pickle.dump(job, worker.jobs)
            worker.jobs.flush()
            answer = pickle.load(worker.answers)  # nosec B301  # a pipe of our own worker
            return cast(Outcome, answer)
        except (OSError, EOFError, pickle.UnpicklingError):
            self._local.worker = None
            worker.close()
            return Outcome(
                Status.ERROR,
                "left alone: the worker process died on it; "
                "the file may be too deeply nested, or memory short",
            )

    def _take(self) -> _Worker:
        """Return a worker for one thread."""
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            if not self._idle:
                self._start(self._first)
                self._first = 1
            return self._idle.pop()

    def _start(self, count: int) -> None:
        """Start a process that is a worker, and makes all but one of ``count`` of itself."""
        pipes = [(*os.pipe(), *os.pipe()) for _ in range(count - 1)]
        theirs = [end for read, _, _, write in pipes for end in (read, write)]
        # -I -S: only the standard library and then this process's own path, in that order; a module
        # in the working directory must not take the place of one of the library's.
        command = [sys.executable, "-I", "-S", "-c", _BOOT, json.dumps(_search_path())]
        # A group of its own keeps Ctrl-C to the parent, which then ends the workers.
        process = subprocess.Popen(
            [*command, self._engine, *map(str, theirs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=os.name == "posix",
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            pass_fds=theirs,
        )
        assert process.stdin is not None and process.stdout is not None
        started = [_Worker(cast(BinaryIO, process.stdin), cast(BinaryIO, process.stdout))]
        for end in theirs:
            os.close(end)
        for _, write, read, _ in pipes:
            started.append(_Worker(os.fdopen(write, "wb"), os.fdopen(read, "rb")))
        self._processes.append(process)
        self._workers += started
        self._idle += started


def _search_path() -> list[str]:
    """List where this process finds modules, without the working directory; tdev_core's place first."""
    home = str(Path(__file__).resolve().parents[3])
    here = os.getcwd()
    return [home, *(path for path in sys.path if path not in ("", here, home))]
