"""Streams of ``sim`` that are busy for a while: what ``torch.cuda._sleep`` puts in flight.

Programs, and torch's own tests, use it to see what overlaps: an event recorded behind it is not done, ``synchronize`` waits for
it, another stream does not. Operators compute at once all the same; what lags is when streams and events say that they are done.
A moment is the nanoseconds of :func:`now`. Nothing is kept until the first sleep.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["Place", "asked", "busy", "device", "now", "occupy", "order", "until", "wait"]

Place = tuple[int, int]
"""A stream: the index of its device, and its number."""

asked = False
"""Whether anything has slept in this process."""
current: Callable[[], Place]
"""Tell the calling thread's current stream; :mod:`.streams` answers."""
now = time.perf_counter_ns
_pause = time.sleep
_until: dict[Place, int] = {}
_changing = threading.Lock()


def occupy(place: Place, seconds: float) -> None:
    """Keep a stream busy for ``seconds`` from when it is done with what it has."""
    global asked
    with _changing:
        _until[place] = max(now(), _until.get(place, 0)) + int(seconds * 1e9)
        asked = True


def order(place: Place, moment: int) -> None:
    """Let what comes to a stream later be done after ``moment``."""
    with _changing:
        _until[place] = max(moment, _until.get(place, 0))


def until(place: Place) -> int:
    """Return the moment when a stream is done with what it has; 0 where it never slept."""
    return _until.get(place, 0)


def busy(moment: int) -> bool:
    """Tell whether ``moment`` is still to come."""
    return now() < moment


def wait(moment: int) -> None:
    """Return when ``moment`` has come."""
    while (rest := moment - now()) > 0:
        _pause(rest / 1e9)


def device(index: int) -> int:
    """Return the moment when all streams of a device are done."""
    with _changing:
        return max((moment for place, moment in _until.items() if place[0] == index), default=0)
