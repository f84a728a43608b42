"""Indices are checked before MLX uses them: it reads whatever lies at an index that is out of range.

A check has to see the numbers, so it waits for the index array; the extremes of an array are kept as long as it
lives.  While a thread traces a graph for compilation nothing can be seen: its checks are collected and become outputs of
the graph. Other threads go on seeing theirs.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.lazy import mx

__all__ = ["check", "collected", "refuse", "wrapped"]

_known: dict[int, tuple[weakref.ref[Any], int, int]] = {}

Check = tuple[Any, Exception]
"""A zero-dimensional bool array that is true where the error would have been raised, and the error."""


class _Tracing(threading.local):
    checks: list[Check] | None = None
    """What the calling thread has collected; None while it traces nothing."""


_tracing = _Tracing()


@contextmanager
def collected() -> Iterator[list[Check]]:
    """Make a context in which the calling thread's checks go into the list that it gives, instead of being made."""
    before, _tracing.checks = _tracing.checks, []
    try:
        yield _tracing.checks
    finally:
        _tracing.checks = before


def extremes(index: Any) -> tuple[int, int]:
    """Find the smallest and largest number in a non-empty integer array."""
    known = _known.get(id(index))
    if known is not None and known[0]() is index:
        return known[1], known[2]
    both = mx.stack([mx.min(index), mx.max(index)])
    low, high = runtime.values(both)
    if len(_known) > 256:
        _known.clear()
    _known[id(index)] = (weakref.ref(index), low, high)
    return low, high


def check(index: Any, size: int, negative: bool = False) -> None:
    """Raise unless all of `index` is in ``[0, size)``, or in ``[-size, size)`` with `negative`.

    Raises:
        IndexError: some index is out of range; the caller's CPU rerun then raises the operator's own error.
    """
    if not index.size:
        return
    least = -size if negative else 0
    if _tracing.checks is not None:
        error = IndexError(
            f"index out of range: an index is not below {size}, the size of the dimension it indexes"
        )
        _tracing.checks.append((mx.any((index < least) | (index >= size)), error))
        return
    low, high = extremes(index)
    if low < least or high >= size:
        raise IndexError(
            f"index {low if low < least else high} is out of bounds for dimension with size {size}"
        )


def refuse(condition: Any, error: Exception) -> None:
    """Raise `error` where the array `condition` is true anywhere; in a compiled graph, after it has run."""
    hit = mx.any(condition)
    if _tracing.checks is not None:
        _tracing.checks.append((hit, error))
    elif runtime.item(hit):
        raise error


def wrapped(index: Any, size: int) -> Any:
    """Check `index`, and give it with negative numbers counted from the end."""
    check(index, size, negative=True)
    if _tracing.checks is None and index.size and extremes(index)[0] >= 0:
        return index
    return mx.where(index < 0, index + size, index)
