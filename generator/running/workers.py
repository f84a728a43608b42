"""Processes that work while this one does."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection
from typing import TypeVar

__all__ = ["available", "chunks", "pool"]

_Item = TypeVar("_Item")
_MOST = 16  # what there is to do is done by then; Windows has a limit of its own


def available() -> int:
    """Tell how many workers can be of use at a time: one for each processor, 0 where there is but one.

    Also 0 in a script that was started by its path: every worker would run it once more, and nobody
    knows whether it says ``if __name__ == "__main__"``.
    """
    main = sys.modules["__main__"]
    if getattr(main, "__spec__", None) is None and hasattr(main, "__file__"):
        return 0
    number = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    return min(number, _MOST) if number > 1 else 0


@contextmanager
def pool(size: int) -> Iterator[Executor]:
    """``size`` worker processes.

    They are new Pythons, not copies of this one, which may be full of torch and its threads: what
    they are given has to be importable and picklable. At the end of the block what has not begun is
    given up; no worker outlives the block, or this process.
    """
    workers = ProcessPoolExecutor(
        size, mp_context=multiprocessing.get_context("spawn"), initializer=_begin
    )
    try:
        with _uninterrupted():
            for _ in range(size):
                workers.submit(_started)
        yield workers
    finally:
        workers.shutdown(cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Ctrl-C waits; processes that are started meanwhile never get it, whatever they are at."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def chunks(items: Iterable[tuple[_Item, int]], size: int) -> Iterator[list[_Item]]:
    """Portions for workers: the items in order, given with their sizes, until ``size`` is reached."""
    chunk: list[_Item] = []
    total = 0
    for item, own in items:
        chunk.append(item)
        total += own
        if total >= size:
            yield chunk
            chunk, total = [], 0
    if chunk:
        yield chunk


def _started() -> None:
    """Do nothing, as the first task: a pool starts a process when a task is there and no process is idle."""


def _begin() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this decides what Ctrl-C ends
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End with the parent. One that is killed closes no queue: without this its workers would wait for ever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)
