"""The end of a process whose collectives gloo has carried.

A thread of gloo's that lets go of a collective's tensors takes Python's lock. If the interpreter has begun to end by then, Python
ends that thread, which torch's C++ answers with ``terminate called without an active exception``: a rank that has done all of
its work ends by SIGABRT, and ``torchrun`` calls the run failed. ``destroy_process_group`` waits for these threads unless
something keeps the group, as DistributedDataParallel's reducer does. NCCL has no such threads, so that programs
written for it end well without a thought of them.
Source: pytorch/pytorch#179291, and torch's ``ProcessGroupGloo::runLoop``.
"""

from __future__ import annotations

import atexit
import functools
import time
from pathlib import Path

__all__ = ["wait_at_exit"]

_TASKS = Path("/proc/self/task")
_THREAD = "pt_gloo_runloop"
_PAUSE = 0.01  # seconds, in which a thread that waits for Python's lock asks for it twice
_MOST = 2.0  # seconds: a collective that does not end has a peer that died, and must not keep this process


@functools.cache  # once for a process, however many groups it makes
def wait_at_exit() -> None:
    """Have the interpreter's end wait until gloo's threads have let go of what they carried."""
    atexit.register(_wait)


def _wait() -> None:
    if not _TASKS.is_dir():  # not Linux
        return time.sleep(5 * _PAUSE)
    deadline = time.monotonic() + _MOST
    before = _threads()
    while before and time.monotonic() < deadline:
        time.sleep(_PAUSE)  # without the lock
        now = _threads()
        if now == before and all(waits for waits, _ in now.values()):
            return
        before = now


def _threads() -> dict[str, tuple[bool, str]]:
    """Return gloo's threads: whether each waits, and how often it has begun to. One that waits for Python's lock begins anew."""
    found = {}
    for task in _TASKS.iterdir():
        try:
            if (task / "comm").read_text().strip() != _THREAD:
                continue
            lines = (task / "status").read_text().splitlines()
        except OSError:  # it has ended
            continue
        status = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
        waits = status["State"].startswith("S")
        found[task.name] = (waits, status["voluntary_ctxt_switches"])
    return found
