"""Sums and averages of many numbers, as exact as torch's.

MLX's kernels for the processor add one number after the other into a few running sums: in float32 the average of a
million numbers near 1 is wrong by half a percent. Here blocks are added, then their sums, so that no running sum
takes many. Metal's kernels add in a tree and are left alone, as are axes that are no neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.lazy import mx

__all__ = ["are_exact", "mean", "total"]

Array = Any
_BLOCK = 1024
_ENOUGH = 4 * _BLOCK  # so many numbers are still added within a few roundings


def are_exact(count: int) -> bool:
    """Tell whether MLX's own sum of ``count`` numbers loses no more than a few roundings."""
    return count <= _ENOUGH or not runtime.on_cpu


def total(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Give ``mx.sum`` of the same arguments, in which many numbers lose no more than a few do."""
    if are_exact(x.size) or x.dtype not in (mx.float32, mx.complex64):
        return mx.sum(x, axis=axis, keepdims=keepdims)
    if axis is None:
        picked = list(range(x.ndim))
    else:
        picked = sorted(a % x.ndim for a in ([axis] if isinstance(axis, int) else axis))
    if (
        are_exact(math.prod(x.shape[a] for a in picked))
        or len(picked) <= picked[-1] - picked[0]  # loops within loops, each of which adds a few
    ):
        return mx.sum(x, axis=axis, keepdims=keepdims)
    r = _along(mx.flatten(x, picked[0], picked[-1]), picked[0])
    return mx.expand_dims(r, picked) if keepdims else r


def mean(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Give ``mx.mean`` of the same arguments, by :func:`total`."""
    r = total(x, axis, keepdims)
    return r * (r.size / x.size) if x.size else mx.mean(x, axis=axis, keepdims=keepdims)


def _along(x: Array, axis: int) -> Array:
    """Add along one axis, and take it away."""
    n = x.shape[axis]
    if n <= _ENOUGH:
        return mx.sum(x, axis=axis)
    block = next((size for size in range(_BLOCK, _BLOCK // 16, -1) if n % size == 0), _BLOCK)
    whole, rest = n - n % block, None
    if whole < n:
        x, rest = mx.split(x, [whole], axis=axis)
    r = _along(mx.sum(mx.unflatten(x, axis, (whole // block, block)), axis=axis + 1), axis)
    return r if rest is None else r + mx.sum(rest, axis=axis)
