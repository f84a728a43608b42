"""The `dim` arguments of aten: None, an int or a list of ints, counted from either end."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.lazy import mx

__all__ = ["Dim", "at_least_1d", "axes", "axis"]

Array = Any
Dim = Any


def axes(x: Array, dim: Dim, empty_means_all: bool = True) -> list[int]:
    """Give non-negative axes; raises what torch raises for one out of range or given twice."""
    if dim is None:
        return list(range(x.ndim))
    dims = list(dim) if isinstance(dim, (list, tuple)) else [dim]
    if not dims and empty_means_all:
        return list(range(x.ndim))
    picked = [_counted(d, max(x.ndim, 1)) for d in dims]
    if len(set(picked)) != len(picked):
        raise RuntimeError(f"dim {picked[-1]} appears multiple times in the list of dims")
    return picked if x.ndim else []


def _counted(dim: int, n: int) -> int:
    """Count an axis of `n` from the front."""
    if not -n <= dim < n:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {dim})"
        )
    return dim % n


def axis(x: Array, dim: int) -> int:
    """Give one non-negative axis; 0 for a zero-dimensional array."""
    return (axes(x, dim) or [0])[0]


def at_least_1d(x: Array) -> Array:
    """Give `x` one dimension where it has none."""
    return x if x.ndim else mx.reshape(x, (1,))
