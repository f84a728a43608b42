"""Indices are checked before MLX uses them: it reads whatever lies at an index that is out of range.

A check has to see the numbers, so it waits for the index array; the extremes of an array are kept as long as it
lives.  While a graph is being compiled nothing can be seen: the checks are collected and become outputs of the graph.
"""

from __future__ import annotations

import weakref
from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.lazy import mx

__all__ = ["check", "collecting", "refuse", "wrapped"]

_known: dict[int, tuple[weakref.ref[Any], int, int]] = {}
collecting: list[tuple[Any, Exception]] | None = None
"""While a graph is compiled: a zero-dimensional bool array that is true where the error would have been raised, and the error."""


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
    if collecting is not None:
        error = IndexError(
            f"index out of range: an index is not below {size}, the size of the dimension it indexes"
        )
        collecting.append((mx.any((index < least) | (index >= size)), error))
        return
    low, high = extremes(index)
    if low < least or high >= size:
        raise IndexError(
            f"index {low if low < least else high} is out of bounds for dimension with size {size}"
        )


def refuse(condition: Any, error: Exception) -> None:
    """Raise `error` where the array `condition` is true anywhere; in a compiled graph, after it has run."""
    hit = mx.any(condition)
    if collecting is not None:
        collecting.append((hit, error))
    elif runtime.item(hit):
        raise error


def wrapped(index: Any, size: int) -> Any:
    """Check `index`, and give it with negative numbers counted from the end."""
    check(index, size, negative=True)
    if collecting is None and index.size and extremes(index)[0] >= 0:
        return index
    return mx.where(index < 0, index + size, index)
