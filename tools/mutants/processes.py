"""Waits for a fork, and ends all that it and the programs it starts leave behind."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = ["sweep", "waited"]


def waited(pid: int, limit: float) -> int | None:
    """Wait for a fork, and end it and all it has started where that takes too long; its status."""
    until = time.monotonic() + limit
    pause = 0.005
    status = None
    while time.monotonic() < until:
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            status = os.waitstatus_to_exitcode(code)
            break
        time.sleep(pause)
        pause = min(0.1, pause * 1.3)
    if status is None:
        for one in (*_descendants(pid), pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        os.waitpid(pid, 0)
    return status


def sweep(servers: list[int]) -> None:
    """End what a fork has left: orphans, which are children of this process by now, and programs of the servers."""
    for _ in range(50):
        left = [*_descendants(os.getpid())]
        for server in servers:
            left += _descendants(server)
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if not left:
            return
        time.sleep(0.01)


def _descendants(pid: int) -> Iterator[int]:
    try:
        tasks = os.listdir(f"/proc/{pid}/task")
    except OSError:
        return
    for task in tasks:
        with contextlib.suppress(OSError):
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split():
                yield from _descendants(int(child))
                yield int(child)
