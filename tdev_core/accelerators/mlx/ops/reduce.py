"""Sums, products, truth and extremes over axes. `dim` is as in the aten schemas (see `axes`); counts are int64."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx.dtypes import (
    cast,
    compute,
    is_complex,
    is_float,
    is_half,
    is_int,
    to_float,
    upcast,
)
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops import sums
from tdev_core.accelerators.mlx.ops.axes import Dim, at_least_1d, axes, axis
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def _total(x: Array, dim: Dim, keepdim: bool) -> Array:
    return sums.total(x, axis=axes(x, dim), keepdims=keepdim) if x.ndim else x[...]


def _integral(x: Array, dtype: Any) -> Array:
    """Give `x` in the asked type; where none is, integers and bools are added up in int64."""
    if dtype is not None:
        return compute(x, dtype)
    return x.astype(mx.int64) if is_int(x) else x


@op("sum", mlx="mx.sum")
def sum_all(x: Array, *, dtype: Any = None) -> Array:
    return sum_dim(x, None, False, dtype=dtype)


def _sum_float32(x: Array, dim: Dim, keepdim: bool = False) -> Array:
    if not x.ndim or not dim:
        raise Decline("no axes given")
    return sums.total(x, axis=dim, keepdims=keepdim)


@op(
    "sum.dim_IntList",
    mlx="mx.sum",
    note="16-bit floats are summed in float32",
    float32=_sum_float32,
)
def sum_dim(x: Array, dim: Dim, keepdim: bool = False, *, dtype: Any = None) -> Array:
    x = _integral(x, dtype)
    if is_half(x):
        return _total(upcast(x), dim, keepdim).astype(x.dtype)
    return _total(x, dim, keepdim)


@op("nansum", mlx="mx.sum, mx.where")
def nansum(x: Array, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None) -> Array:
    if is_complex(x):
        raise Decline("nansum is for real numbers")
    x = mx.where(mx.isnan(x), mx.zeros_like(x), x)
    return sum_dim(x, dim, keepdim, dtype=dtype)


@op("mean", mlx="mx.mean")
def mean_all(x: Array, *, dtype: Any = None) -> Array:
    return mean(x, None, False, dtype=dtype)


@op("mean.dim", mlx="mx.mean", note="16-bit floats are averaged in float32")
def mean(x: Array, dim: Dim, keepdim: bool = False, *, dtype: Any = None) -> Array:
    x = compute(x, dtype)
    if is_int(x):
        raise Decline("mean(): could not infer output dtype")
    n = math.prod(x.shape[a] for a in axes(x, dim))
    total = _total(upcast(x), dim, keepdim)
    return (total * (1.0 / n) if n else total / 0.0).astype(x.dtype)


@op("prod", mlx="mx.prod")
def prod_all(x: Array, *, dtype: Any = None) -> Array:
    x = _integral(x, dtype)
    return mx.prod(upcast(x)).astype(x.dtype)


@op("prod.dim_int", mlx="mx.prod")
def prod(x: Array, dim: int, keepdim: bool = False, *, dtype: Any = None) -> Array:
    x = _integral(x, dtype)
    picked = axes(x, dim)
    return mx.prod(upcast(x), axis=picked, keepdims=keepdim).astype(x.dtype) if x.ndim else x[...]


def _truth(name: str) -> None:
    """Register `any` or `all`."""

    @op(
        name, f"{name}.dim", f"{name}.dims", mlx=f"mx.{name}", note="uint8 stays uint8, as in torch"
    )
    def kernel(x: Array, dim: Dim = None, keepdim: bool = False) -> Array:
        # any.dims with an empty list reduces nothing, unlike the other reductions
        picked = axes(x, dim, empty_means_all=False)
        b = cast(x, mx.bool_)
        r = getattr(mx, name)(b, axis=picked, keepdims=keepdim) if picked else b
        return r.astype(mx.uint8) if x.dtype == mx.uint8 else r


_truth("any")
_truth("all")


@op("count_nonzero.dim_IntList", "count_nonzero", mlx="mx.sum")
def count_nonzero(x: Array, dim: Dim = None) -> Array:
    b = cast(x, mx.bool_).astype(mx.int64)
    return mx.sum(b, axis=axes(x, dim)) if x.ndim else b


@op("logsumexp", mlx="mx.logsumexp")
def logsumexp(x: Array, dim: Dim, keepdim: bool = False) -> Array:
    x = to_float(x)
    if is_complex(x) or not x.size:
        raise Decline("logsumexp of complex numbers or of nothing")
    if not x.ndim:
        return x[...]
    picked = axes(x, dim)
    if len(picked) == 1:
        return sums.logsumexp(upcast(x), picked[0], keepdim).astype(x.dtype)
    return mx.logsumexp(upcast(x), axis=picked, keepdims=keepdim).astype(x.dtype)


def _refuse_nothing(x: Array, picked: list[int], name: str) -> None:
    if any(x.shape[a] == 0 for a in picked) or (not picked and not x.size):
        raise Decline(f"{name}(): Expected reduction dim to have non-zero size.")


def _refuse_complex(x: Array) -> None:
    if is_complex(x):
        raise Decline("complex numbers have no order")


def _extreme(name: str) -> None:
    """Register the four forms of `max` or `min`: over axes, over everything, with indices, and the indices alone."""

    @op(f"a{name}", mlx=f"mx.{name}")
    def amax(x: Array, dim: Dim = (), keepdim: bool = False) -> Array:
        picked = axes(x, dim)
        _refuse_nothing(x, picked, f"a{name}")
        _refuse_complex(x)
        return getattr(mx, name)(x, axis=picked, keepdims=keepdim) if x.ndim else x[...]

    @op(name, mlx=f"mx.{name}")
    def all_(x: Array) -> Array:
        _refuse_nothing(x, list(range(x.ndim)), name)
        _refuse_complex(x)
        return getattr(mx, name)(x)

    @op(f"{name}.dim", mlx=f"mx.arg{name}, mx.take_along_axis")
    def with_index(x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        a = axis(x, dim)
        row = at_least_1d(x)
        index = arg_extreme(row, a, name)
        values = mx.take_along_axis(row, mx.expand_dims(index, a), axis=a)
        return _reduced(mx.squeeze(values, a), x, a, keepdim), _reduced(index, x, a, keepdim)

    @op(f"arg{name}", mlx=f"mx.arg{name}")
    def arg(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
        if dim is None:
            _refuse_nothing(x, list(range(x.ndim)), f"arg{name}")
            index = arg_extreme(mx.reshape(x, (-1,)), 0, name)
            return mx.reshape(index, (1,) * x.ndim) if keepdim else index
        a = axis(x, dim)
        return _reduced(arg_extreme(at_least_1d(x), a, name), x, a, keepdim)


def _reduced(r: Array, x: Array, a: int, keepdim: bool) -> Array:
    """Give `r`, which lacks the axis `a` of `x`, the shape that torch's reductions have."""
    if not x.ndim:
        return mx.reshape(r, ())
    return mx.expand_dims(r, a) if keepdim else r


def arg_extreme(x: Array, a: int, name: str) -> Array:
    """Find the first index of the extreme value along `a`, NaN counting as the most extreme; int64."""
    if is_complex(x) or x.shape[a] == 0:
        raise Decline(f"{name}(): complex numbers, or a dimension of size 0")
    if x.dtype == mx.bool_:
        x = x.astype(mx.uint8)
    index = getattr(mx, "arg" + name)(x, axis=a).astype(mx.int64)
    if not is_float(x):
        return index
    nan = mx.isnan(x)
    first_nan = mx.argmax(nan.astype(mx.uint8), axis=a).astype(mx.int64)
    return mx.where(mx.any(nan, axis=a), first_nan, index)


_extreme("max")
_extreme("min")


@op("aminmax", mlx="mx.min, mx.max")
def aminmax(x: Array, *, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    picked = axes(x, dim)
    _refuse_nothing(x, picked, "aminmax")
    if is_complex(x) or not x.ndim:
        raise Decline("aminmax of a scalar or of complex numbers")
    return mx.min(x, axis=picked, keepdims=keepdim), mx.max(x, axis=picked, keepdims=keepdim)
