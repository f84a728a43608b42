"""High-water marks and running totals: of a number that is counted, or can only be read.

A backend that counts bytes but keeps no peak is read at every query, and by a thread that starts with
the first query and reads every 10 ms. A peak that lasts less than that and falls between two queries is
not seen: it is a lower bound of the true peak, and never more than it.
"""

from __future__ import annotations

import copy
import os
import threading
import weakref
from collections.abc import Callable

__all__ = ["Tally", "Watermark"]

PERIOD_S = 0.01

_watched: weakref.WeakSet[Watermark] = weakref.WeakSet()
_lock = threading.Lock()
_thread: threading.Thread | None = None


class Tally:
    """A number over time: what it is ``now``, its ``peak``, and how much it has ``risen`` and ``fallen`` in all."""

    __slots__ = ("fallen", "now", "peak", "risen")

    def __init__(self, now: int = 0, peak: int = 0) -> None:
        self.now = now
        self.peak = max(now, peak)
        self.risen = self.fallen = 0

    def up(self, amount: int) -> None:
        """Let it rise by ``amount``."""
        self.now += amount
        self.risen += amount
        if self.now > self.peak:
            self.peak = self.now

    def down(self, amount: int) -> None:
        """Let it fall by ``amount``."""
        self.now -= amount
        self.fallen += amount

    def reset_peak(self) -> None:
        """Let the peak start again from what the number is now."""
        self.peak = self.now

    def reset_totals(self) -> None:
        """Let ``risen`` and ``fallen`` start again from 0."""
        self.risen = self.fallen = 0


class Watermark:
    """The :class:`Tally` of a number that is known when it is read.

    Args:
        read: returns the number now; called from the sampling thread as well.
    """

    def __init__(self, read: Callable[[], int]) -> None:
        self._read = read
        self._lock = threading.Lock()
        self._tally = Tally()
        self._tally.up(read())
        _watch(self)

    def now(self) -> int:
        """Return the number now. Counts as a reading."""
        if _thread is None:
            _watch(self)  # in a forked child, which has no threads yet
        value = self._read()
        with self._lock:
            change = value - self._tally.now
            if change > 0:
                self._tally.up(change)
            else:
                self._tally.down(-change)
        return value

    def tally(self) -> Tally:
        """Read the number and return a copy of its tally."""
        self.now()
        with self._lock:
            return copy.copy(self._tally)

    def peak(self) -> int:
        """Return the highest reading since the start or the last :meth:`reset_peak`."""
        self.now()
        return self._tally.peak

    def risen(self) -> int:
        """Return the sum of all rises between readings since the start or :meth:`reset_totals`."""
        self.now()
        return self._tally.risen

    def fallen(self) -> int:
        """Return the sum of all falls between readings since the start or :meth:`reset_totals`."""
        self.now()
        return self._tally.fallen

    def reset_peak(self) -> None:
        """Let the peak start again from what the number is now."""
        self.now()
        with self._lock:
            self._tally.reset_peak()

    def reset_totals(self) -> None:
        """Let :meth:`risen` and :meth:`fallen` start again from 0."""
        self.now()
        with self._lock:
            self._tally.reset_totals()


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
