"""Starts worker processes, and yields results in the order of the jobs.

Workers are plain subprocesses rather than ``multiprocessing`` ones for two reasons. A spawned
``multiprocessing`` child imports the parent's main module again, which is ``tdev.codemod`` and with
it torch. And a parser written in C or Rust can end its process on a hostile file: here that costs
the one file, and the next job gets a new worker.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import cast

from tdev_core.codemod.engine import ProgramTree
from tdev_core.codemod.jobs.process import ENGINE, Job
from tdev_core.codemod.model import Outcome, Status

_WAKE = 0.25
_AHEAD_JOBS = 256
_AHEAD_BYTES = 64 * 1024 * 1024
_BOOT = """\
import json, sys
sys.path += [p for p in json.loads(sys.argv[1]) if p not in sys.path]
from tdev_core.codemod.jobs.worker import main
main(sys.argv[2])
"""


def result_of(future: Future[Outcome]) -> Outcome:
    """Wait for a result; Ctrl-C ends the wait within a moment.

    A signal that comes just before a thread blocks, or that another thread gets, does not wake it: it
    would be heeded only when the file is done with.
    """
    while not wait([future], _WAKE).done:
        pass
    return future.result()


def default_jobs() -> int:
    """As many workers as this process may use processors."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


class Pool:
    """``jobs`` workers, started when the first job needs them. Close it, or use ``with``.

    Each is told of ``tree`` once, in place of the options of every job: it may be larger than most files.
    """

    def __init__(self, jobs: int, engine: str = ENGINE, tree: ProgramTree | None = None) -> None:
        self._engine = engine
        self._tree = tree
        self._local = threading.local()
        self._lock = threading.Lock()
        self._workers: set[subprocess.Popen[bytes]] = set()
        self._closed = False
        self._threads = ThreadPoolExecutor(jobs)

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
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
            workers = list(self._workers)
        for worker in workers:
            worker.kill()

    def close(self) -> None:
        """End the workers at once, whatever they are doing; nothing that they do is on disk."""
        self.kill()
        with self._lock:
            workers = list(self._workers)
        self._threads.shutdown(wait=True, cancel_futures=True)
        for worker in workers:
            worker.wait()
            for pipe in (worker.stdin, worker.stdout):
                if pipe is not None:
                    try:
                        pipe.close()
                    except BrokenPipeError:
                        pass  # it held a request that nobody will read any more

    def _answer(self, job: Job) -> Outcome:
        worker = getattr(self._local, "worker", None)
        told = worker is not None and worker.poll() is None
        if not told:
            worker = self._local.worker = self._start()
        assert worker is not None and worker.stdin is not None and worker.stdout is not None
        try:
            if not told:
                pickle.dump(self._tree, worker.stdin)
            pickle.dump(job, worker.stdin)
            worker.stdin.flush()
            answer = pickle.load(worker.stdout)  # nosec B301  # a pipe of our own worker
            return cast(Outcome, answer)
        except (OSError, EOFError, pickle.UnpicklingError):
            self._local.worker = None
            worker.kill()
            status = worker.wait()
            return Outcome(
                Status.ERROR,
                f"left alone: the worker process died on it (exit status {status}); "
                "the file may be too deeply nested, or memory short",
            )

    def _start(self) -> subprocess.Popen[bytes]:
        # -I -S: only the standard library and then this process's own path, in that order; a module
        # in the working directory must not take the place of one of the library's.
        command = [
            sys.executable,
            "-I",
            "-S",
            "-c",
            _BOOT,
            json.dumps(_search_path()),
            self._engine,
        ]
        with self._lock:
            if self._closed:
                raise RuntimeError("the pool is closed")
            # A group of its own keeps Ctrl-C to the parent, which then ends the workers.
            worker = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
            self._workers.add(worker)
        return worker


def _search_path() -> list[str]:
    """List where this process finds modules, without the working directory; tdev_core's place first."""
    home = str(Path(__file__).resolve().parents[3])
    here = os.getcwd()
    return [home, *(path for path in sys.path if path not in ("", here, home))]
