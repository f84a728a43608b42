"""Sums and averages of many numbers, as exact as torch's.

MLX's kernels for the processor add one number after the other into a few running sums: in float32 the average of a
million numbers near 1 is wrong by half a percent. Here blocks are added, then their sums, so that no running sum
takes many. Metal's kernels add in a tree and are left alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.lazy import mx

__all__ = ["are_exact", "logsumexp", "mean", "running", "softmax", "total"]

Array = Any
_BLOCK = 1024
_ENOUGH = 4 * _BLOCK  # so many numbers are still added within a few roundings
_LOOPS = 32 * _BLOCK  # and so many in loops within loops


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
    count = math.prod(x.shape[a] for a in picked)
    if are_exact(count):
        return mx.sum(x, axis=axis, keepdims=keepdims)
    if len(picked) > 1 and picked != list(range(picked[0], x.ndim)):
        return _corrected(x, picked, keepdims, count)
    r = _along(mx.flatten(x, picked[0], picked[-1]), picked[0])
    return mx.expand_dims(r, picked) if keepdims else r


def mean(x: Array, axis: int | Sequence[int] | None = None, keepdims: bool = False) -> Array:
    """Give ``mx.mean`` of the same arguments, by :func:`total`."""
    r = total(x, axis, keepdims)
    return r * (r.size / x.size) if x.size else mx.mean(x, axis=axis, keepdims=keepdims)


def softmax(x: Array, axis: int) -> Array:
    """Give ``mx.softmax`` along an axis, by :func:`total`."""
    if are_exact(x.shape[axis]):
        return mx.softmax(x, axis=axis, precise=True)
    e = mx.exp(x - mx.max(x, axis=axis, keepdims=True))
    return e / total(e, axis, keepdims=True)


def logsumexp(x: Array, axis: int, keepdims: bool = False) -> Array:
    """Give ``mx.logsumexp`` along an axis, by :func:`total`."""
    if are_exact(x.shape[axis]):
        return mx.logsumexp(x, axis=axis, keepdims=keepdims)
    most = mx.max(x, axis=axis, keepdims=True)
    r = most + mx.log(total(mx.exp(x - most), axis, keepdims=True))
    r = mx.where(mx.isinf(most), most, r)
    return r if keepdims else mx.squeeze(r, axis)


def _corrected(x: Array, picked: list[int], keepdims: bool, count: int) -> Array:
    """Add up, then add what the numbers are off their average by, of which a sum stays small.

    In whatever order the axes lie in memory; blocks of some would be gathered from all over it.
    """
    r = mx.sum(x, axis=picked, keepdims=True)
    if count > _LOOPS:
        off = mx.sum(x - r * (1.0 / count), axis=picked, keepdims=True)
        r = mx.where(mx.isfinite(off), r + off, r)
    return r if keepdims else mx.squeeze(r, picked)


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


def running(x: Array, axis: int) -> Array:
    """Give ``mx.cumsum`` along an axis, with the error of sums in blocks."""
    n = x.shape[axis]
    if are_exact(n) or x.dtype not in (mx.float32, mx.complex64):
        return mx.cumsum(x, axis=axis)
    ends = [(0, -n % _BLOCK if a == axis else 0) for a in range(x.ndim)]
    blocks = mx.unflatten(mx.pad(x, ends), axis, (-1, _BLOCK))
    so_far = running(mx.sum(blocks, axis=axis + 1), axis)
    # What stands before each block: nothing before the first.
    starts = [(int(a == axis), 0) for a in range(x.ndim)]
    before = mx.split(mx.pad(so_far, starts), [so_far.shape[axis]], axis=axis)[0]
    r = mx.cumsum(blocks, axis=axis + 1) + mx.expand_dims(before, axis + 1)
    return mx.split(mx.flatten(r, axis, axis + 1), [n], axis=axis)[0]
