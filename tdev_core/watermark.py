"""High-water marks and running totals of a number that can only be read, not hooked.

A backend that counts bytes but keeps no peak is read at every query, and by a thread that starts with
the first query and reads every 10 ms. A peak that lasts less than that and falls between two queries is
not seen: it is a lower bound of the true peak, and never more than it.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable

__all__ = ["Watermark"]

PERIOD_S = 0.01

_watched: weakref.WeakSet[Watermark] = weakref.WeakSet()
_lock = threading.Lock()
_thread: threading.Thread | None = None


class Watermark:
    """What is known of a number over time: its peak, and how much it rose and fell in all.

    Args:
        read: returns the number now; called from the sampling thread as well.
    """

    def __init__(self, read: Callable[[], int]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._last = self._peak = read()
        self._risen = self._last
        self._fallen = 0
        _watch(self)

    def now(self) -> int:
        """The number now. Counts as a reading."""
        if _thread is None:
            _watch(self)  # in a forked child, which has no threads yet
        value = self._read()
        with self._lock:
            change = value - self._last
            if change > 0:
                self._risen += change
            else:
                self._fallen -= change
            self._last = value
            self._peak = max(self._peak, value)
        return value

    def peak(self) -> int:
        """The highest reading since the start or the last :meth:`reset_peak`."""
        self.now()
        return self._peak

    def risen(self) -> int:
        """Sum of all rises between readings since the start or :meth:`reset_totals`."""
        self.now()
        return self._risen

    def fallen(self) -> int:
        """Sum of all falls between readings since the start or :meth:`reset_totals`."""
        self.now()
        return self._fallen

    def reset_peak(self) -> None:
        """Let the peak start again from what the number is now."""
        value = self.now()
        with self._lock:
            self._peak = value

    def reset_totals(self) -> None:
        """Let :meth:`risen` and :meth:`fallen` start again from 0."""
        self.now()
        with self._lock:
            self._risen = self._fallen = 0


def _watch(mark: Watermark) -> None:
    global _thread
    with _lock:
        _watched.add(mark)
        if _thread is None:
            _thread = threading.Thread(target=_sample, name="tdev-memory-sampler", daemon=True)
            _thread.start()


def _sample() -> None:
    pause = threading.Event()  # never set; waiting on it is a sleep that ends with the process
    while not pause.wait(PERIOD_S):
        with _lock:
            marks = list(_watched)
        for mark in marks:
            mark.now()


def _after_fork() -> None:
    # Threads do not survive a fork, and a lock may have been held by one. The next reading starts the
    # sampling anew; most children (workers of a DataLoader) never ask.
    global _lock, _thread
    _lock = threading.Lock()
    _thread = None
    for mark in list(_watched):
        mark._lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
