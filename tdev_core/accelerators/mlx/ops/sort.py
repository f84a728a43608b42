"""Sorting, ranking and scans. MLX sorts ascending, stably, NaN last; descending is the reverse of the reversed."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import (
    category,
    compute,
    is_complex,
    is_float,
    is_half,
    is_int,
)
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops import sums
from tdev_core.accelerators.mlx.ops.axes import at_least_1d, axis
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def _reverse(x: Array, a: int) -> Array:
    return x[(*[slice(None)] * a, slice(None, None, -1))]


def order(x: Array, a: int, descending: bool) -> Array:
    """Find the indices that sort `x` along `a`, stably."""
    if is_complex(x):
        raise Decline("complex numbers have no order")
    if x.dtype == mx.bool_:
        x = x.astype(mx.uint8)
    n = x.shape[a]
    if not descending:
        return mx.argsort(x, axis=a).astype(mx.int64)
    return n - 1 - _reverse(mx.argsort(_reverse(x, a), axis=a).astype(mx.int64), a)


@op("sort", mlx="mx.argsort, mx.take_along_axis")
def sort(x: Array, dim: int = -1, descending: bool = False) -> tuple[Array, Array]:
    return stable_sort(x, stable=True, dim=dim, descending=descending)


@op("sort.stable", mlx="mx.argsort, mx.take_along_axis")
def stable_sort(
    x: Array, *, stable: bool | None, dim: int = -1, descending: bool = False
) -> tuple[Array, Array]:
    a = axis(x, dim)
    if not x.size:
        return x[...], mx.zeros(x.shape, dtype=mx.int64)
    flat = at_least_1d(x)
    index = order(flat, a, descending)
    return mx.reshape(mx.take_along_axis(flat, index, axis=a), x.shape), mx.reshape(index, x.shape)


@op("argsort", mlx="mx.argsort")
def argsort(x: Array, dim: int = -1, descending: bool = False) -> Array:
    return sort(x, dim, descending)[1]


@op("argsort.stable", mlx="mx.argsort")
def argsort_stable(x: Array, *, stable: bool, dim: int = -1, descending: bool = False) -> Array:
    return sort(x, dim, descending)[1]


@op("topk", mlx="mx.argsort, mx.take_along_axis")
def topk(
    x: Array, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Array, Array]:
    a = axis(x, dim)
    flat = at_least_1d(x)
    if not 0 <= k <= flat.shape[a]:
        raise Decline("selected index k out of range")
    index = order(flat, a, largest)[(*[slice(None)] * a, slice(0, k))]
    values = mx.take_along_axis(flat, index, axis=a)
    return (values, index) if x.ndim else (mx.reshape(values, ()), mx.reshape(index, ()))


def _pick(x: Array, a: int, place: Any, keepdim: bool) -> tuple[Array, Array]:
    """Find the elements at rank `place` along `a`, and where they were."""
    flat = at_least_1d(x)
    index = order(flat, a, False)
    index = (
        mx.take_along_axis(index, place, axis=a)
        if isinstance(place, mx.array)
        else index[(*[slice(None)] * a, slice(place, place + 1))]
    )
    values = mx.take_along_axis(flat, index, axis=a)
    if not keepdim or not x.ndim:
        values, index = mx.squeeze(values, a), mx.squeeze(index, a)
    return values, index


@op("kthvalue", mlx="mx.argsort")
def kthvalue(x: Array, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    a = axis(x, dim)
    if not 1 <= k <= at_least_1d(x).shape[a] or not x.size:
        raise Decline("kthvalue(): selected number k out of range for dimension")
    return _pick(x, a, k - 1, keepdim)


def _median(x: Array, a: int, keepdim: bool, ignore_nan: bool) -> tuple[Array, Array]:
    flat = at_least_1d(x)
    if not x.size or is_complex(x):
        raise Decline("median of nothing or of complex numbers")
    n = flat.shape[a]
    if not is_float(x):
        return _pick(x, a, (n - 1) // 2, keepdim)
    nan = mx.isnan(flat)
    count = mx.sum(nan.astype(mx.int64), axis=a, keepdims=True)
    if ignore_nan:
        place = mx.maximum(n - count - 1, 0) // 2
    else:  # the first NaN, if there is one, sorts right after the numbers
        place = mx.where(count > 0, n - count, (n - 1) // 2)
    return _pick(x, a, place, keepdim)


@op("median", mlx="mx.argsort")
def median(x: Array) -> Array:
    return _median(mx.reshape(x, (-1,)), 0, False, False)[0]


@op("nanmedian", mlx="mx.argsort")
def nanmedian(x: Array) -> Array:
    return _median(mx.reshape(x, (-1,)), 0, False, True)[0]


@op("median.dim", mlx="mx.argsort")
def median_dim(x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    return _median(x, axis(x, dim), keepdim, False)


@op("nanmedian.dim", mlx="mx.argsort")
def nanmedian_dim(x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
    return _median(x, axis(x, dim), keepdim, True)


@op(
    "mode",
    compiled=False,
    mlx="mx.equal, mx.sum, mx.argmax",
    note="by comparing all pairs, up to 1024 elements",
)
def mode(x: Array, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    a = axis(x, dim)
    flat = at_least_1d(x)
    n = flat.shape[a]
    if not x.size or is_complex(x) or n > 1024:
        raise Decline("mode over nothing, complex numbers or a long dimension")
    if is_float(x) and runtime.item(mx.any(mx.isnan(x))):
        raise Decline("mode over NaN")
    moved = mx.moveaxis(flat, a, -1)
    index = order(moved, moved.ndim - 1, False)
    ranked = mx.take_along_axis(moved, index, axis=-1)
    counts = mx.sum(mx.expand_dims(ranked, -1) == mx.expand_dims(ranked, -2), axis=-1)
    best = mx.argmax(counts, axis=-1, keepdims=True)  # the first of them is the smallest number
    last = (
        best + mx.take_along_axis(counts, best, axis=-1) - 1
    )  # and its last place is the one torch names
    last = mx.where(mx.take_along_axis(counts, best, axis=-1) == 0, best, last)
    values = mx.moveaxis(mx.take_along_axis(ranked, last, axis=-1), -1, a)
    places = mx.moveaxis(mx.take_along_axis(index, last, axis=-1), -1, a)
    if not keepdim or not x.ndim:
        values, places = mx.squeeze(values, a), mx.squeeze(places, a)
    return values, places


@op("searchsorted.Tensor", mlx="mx.searchsorted")
def searchsorted(
    sorted_sequence: Array,
    x: Array,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Array:
    if (
        sorter is not None
        or sorted_sequence.ndim != 1
        or sorted_sequence.dtype != x.dtype
        or not sorted_sequence.size
    ):
        raise Decline("searchsorted over several rows, another dtype, or with a sorter")
    r = mx.searchsorted(sorted_sequence, x, side="right" if right or side == "right" else "left")
    return r.astype(mx.int32 if out_int32 else mx.int64)


@op("bucketize.Tensor", mlx="mx.searchsorted")
def bucketize(
    x: Array, boundaries: Array, *, out_int32: bool = False, right: bool = False
) -> Array:
    return searchsorted(boundaries, x, out_int32=out_int32, right=right)


# --- scans ----------------------------------------------------------------------------------------


def _scan(x: Array, dim: int, dtype: Any, f: Any) -> Array:
    a = axis(x, dim)
    x = compute(x, dtype) if dtype is not None else x.astype(mx.int64) if is_int(x) else x
    if not x.ndim or not x.size:
        return x[...]
    wide = x.astype(mx.float32) if is_half(x) else x
    return f(wide, axis=a).astype(x.dtype)


@op("cumsum", mlx="mx.cumsum")
def cumsum(x: Array, dim: int, *, dtype: Any = None) -> Array:
    return _scan(x, dim, dtype, sums.running)


@op("cumprod", mlx="mx.cumprod")
def cumprod(x: Array, dim: int, *, dtype: Any = None) -> Array:
    return _scan(x, dim, dtype, mx.cumprod)


@op("logcumsumexp", mlx="mx.logcumsumexp")
def logcumsumexp(x: Array, dim: int) -> Array:
    if not is_float(x):
        raise Decline("logcumsumexp is for floats")
    return _scan(x, dim, None, mx.logcumsumexp)


def _extreme(name: str) -> None:
    @op(name, mlx=f"mx.{name}")
    def kernel(x: Array, dim: int) -> tuple[Array, Array]:
        a = axis(x, dim)
        if category[x.dtype] == 3:
            raise Decline("complex numbers have no order")
        if not x.ndim or not x.size:
            return x[...], mx.zeros(x.shape, dtype=mx.int64)
        w = x.astype(mx.uint8) if x.dtype == mx.bool_ else x
        run = getattr(mx, name)(w, axis=a)
        where = mx.reshape(
            mx.arange(x.shape[a], dtype=mx.int64), [-1 if i == a else 1 for i in range(x.ndim)]
        )
        hit = w == run
        if is_float(x):  # a NaN stays the extreme from where it appears
            nan = mx.isnan(w)
            seen = mx.cummax(nan.astype(mx.uint8), axis=a) != 0
            hit = mx.where(seen, nan, hit)
            run = mx.where(seen, mx.array(float("nan"), dtype=w.dtype), run)
        index = mx.cummax(mx.where(hit, where, 0), axis=a)
        return run.astype(x.dtype), index


_extreme("cummax")
_extreme("cummin")
