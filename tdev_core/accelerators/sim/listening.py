"""Who listens to every operator or allocation: faults, refusals, a trace. The native kernels tell nobody, and rest meanwhile."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

__all__ = ["anybody", "listen", "tell"]

_listeners: set[str] = set()
_changing = threading.Lock()
_rest: Callable[[bool], object] | None = None


def listen(who: str, on: bool = True) -> None:
    """Note that ``who`` listens from now on, or (``on=False``) no more."""
    with _changing:
        if on:
            _listeners.add(who)
        else:
            _listeners.discard(who)
        if _rest is not None:
            _rest(not _listeners)


def anybody() -> bool:
    """Tell whether anybody listens."""
    return bool(_listeners)


def tell(nobody: Callable[[bool], object]) -> None:
    """Call ``nobody(True)`` when the last has stopped and ``nobody(False)`` when one begins; at once, too."""
    global _rest
    with _changing:
        _rest = nobody
        nobody(not _listeners)


def _after_fork() -> None:
    # A thread that was changing the set is not in the child, and would hold its lock for ever.
    global _changing
    _changing = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
