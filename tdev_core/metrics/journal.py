"""Tells whoever watches of what costs time on the way, from rooms that know nothing of who that is.

Nobody watches as a rule, and then it costs one comparison.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol

__all__ = ["Watcher", "span", "watch"]


class Watcher(Protocol):
    """Hears of what a program does."""

    def span(self, kind: str, name: str) -> contextlib.AbstractContextManager[Any]:
        """Give the block in which something is done: a ``fallback`` of an operator, for one."""


_watchers: list[Watcher] = []
_NOTHING: contextlib.AbstractContextManager[Any] = contextlib.nullcontext()


def watch(watcher: Watcher) -> Callable[[], None]:
    """Tell this one, too, from now on; returns what ends that."""
    _watchers.append(watcher)
    return lambda: _watchers.remove(watcher)


def span(kind: str, name: str) -> contextlib.AbstractContextManager[Any]:
    """Return the block in which something is done that costs time; entering it where nobody watches does nothing."""
    if not _watchers:
        return _NOTHING
    return _told(kind, name)


@contextlib.contextmanager
def _told(kind: str, name: str) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for one in tuple(_watchers):
            stack.enter_context(one.span(kind, name))
        yield
