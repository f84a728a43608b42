"""Tells whoever watches of what costs time on the way, from rooms that know nothing of who that is.

Nobody watches as a rule, and then it costs one comparison.
"""

from __future__ import annotations

import contextlib
from typing import Any, Protocol

__all__ = ["Watcher", "span", "watch"]


class Watcher(Protocol):
    """Hears of what a program does."""

    def span(self, kind: str, name: str) -> contextlib.AbstractContextManager[Any]:
        """Give the block in which something is done: a ``fallback`` of an operator, for one."""


_watcher: Watcher | None = None
_NOTHING: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()


def watch(watcher: Watcher | None) -> None:
    """Tell this one from now on; None: nobody."""
    global _watcher
    _watcher = watcher


def span(kind: str, name: str) -> contextlib.AbstractContextManager[Any]:
    """Return the block in which something is done that costs time; entering it where nobody watches does nothing."""
    watcher = _watcher
    return _NOTHING if watcher is None else watcher.span(kind, name)
