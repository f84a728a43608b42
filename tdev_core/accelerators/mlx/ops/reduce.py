"""Reductions. `dim` is None, an int or a list of ints as in the aten schemas; counts are int64."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx.dtypes import (
    cast,
    category,
    compute,
    is_complex,
    is_float,
    is_half,
    is_int,
    mx_dtype,
    to_float,
    upcast,
)
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any
Dim = Any


def axes(x: Array, dim: Dim, empty_means_all: bool = True) -> list[int]:
    """Non-negative axes; raises what torch raises for one out of range or given twice."""
    if dim is None or (empty_means_all and isinstance(dim, (list, tuple)) and not len(dim)):
        return list(range(x.ndim))
    dims = list(dim) if isinstance(dim, (list, tuple)) else [dim]
    n = max(x.ndim, 1)
    out = []
    for d in dims:
        if not -n <= d < n:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {d})"
            )
        out.append(d % n)
    if len(set(out)) != len(out):
        raise RuntimeError(f"dim {out[-1]} appears multiple times in the list of dims")
    return out if x.ndim else []


def axis(x: Array, dim: int) -> int:
    """One non-negative axis; 0 for a zero-dimensional array."""
    return (axes(x, dim) or [0])[0]


def at_least_1d(x: Array) -> Array:
    return x if x.ndim else mx.reshape(x, (1,))


def _total(x: Array, dim: Dim, keepdim: bool) -> Array:
    return mx.sum(x, axis=axes(x, dim), keepdims=keepdim) if x.ndim else x[...]


def _integral(x: Array, dtype: Any) -> Array:
    return compute(x, dtype) if dtype is not None else x.astype(mx.int64) if is_int(x) else x


@op("sum", mlx="mx.sum")
def sum_all(x: Array, *, dtype: Any = None) -> Array:
    return sum_dim(x, None, False, dtype=dtype)


def _sum_float32(x: Array, dim: Dim, keepdim: bool = False) -> Array:
    if not x.ndim or not dim:
        raise Decline("no axes given")
    return mx.sum(x, axis=dim, keepdims=keepdim)


@op(
    "sum.dim_IntList",
    mlx="mx.sum",
    note="16-bit floats are summed in float32",
    float32=_sum_float32,
)
def sum_dim(x: Array, dim: Dim, keepdim: bool = False, *, dtype: Any = None) -> Array:
    x = _integral(x, dtype)
    return (
        _total(upcast(x), dim, keepdim).astype(x.dtype) if is_half(x) else _total(x, dim, keepdim)
    )


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
    return (
        mx.prod(upcast(x), axis=axes(x, dim), keepdims=keepdim).astype(x.dtype)
        if x.ndim
        else x[...]
    )


def _truth(name: str) -> None:
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


def _no_empty(x: Array, picked: list[int], name: str) -> None:
    if any(x.shape[a] == 0 for a in picked) or (not picked and not x.size):
        raise Decline(f"{name}(): Expected reduction dim to have non-zero size.")


def _extreme(name: str) -> None:
    @op(f"a{name}", mlx=f"mx.{name}")
    def amax(x: Array, dim: Dim = (), keepdim: bool = False) -> Array:
        picked = axes(x, dim)
        _no_empty(x, picked, f"a{name}")
        if is_complex(x):
            raise Decline("complex numbers have no order")
        return getattr(mx, name)(x, axis=picked, keepdims=keepdim) if x.ndim else x[...]

    @op(name, mlx=f"mx.{name}")
    def all_(x: Array) -> Array:
        _no_empty(x, list(range(x.ndim)), name)
        if is_complex(x):
            raise Decline("complex numbers have no order")
        return getattr(mx, name)(x)

    @op(f"{name}.dim", mlx=f"mx.arg{name}, mx.take_along_axis")
    def with_index(x: Array, dim: int, keepdim: bool = False) -> tuple[Array, Array]:
        a = axis(x, dim)
        flat = at_least_1d(x)
        index = arg_extreme(flat, a, name)
        values = mx.take_along_axis(flat, mx.expand_dims(index, a), axis=a)
        index = mx.expand_dims(index, a) if keepdim else index
        values = values if keepdim else mx.squeeze(values, a)
        return (values, index) if x.ndim else (mx.reshape(values, ()), mx.reshape(index, ()))

    @op(f"arg{name}", mlx=f"mx.arg{name}")
    def arg(x: Array, dim: int | None = None, keepdim: bool = False) -> Array:
        if dim is None:
            _no_empty(x, list(range(x.ndim)), f"arg{name}")
            index = arg_extreme(mx.reshape(x, (-1,)), 0, name)
            return mx.reshape(index, (1,) * x.ndim) if keepdim else index
        a = axis(x, dim)
        index = arg_extreme(at_least_1d(x), a, name)
        return (
            mx.expand_dims(index, a)
            if keepdim and x.ndim
            else index if x.ndim else mx.reshape(index, ())
        )


def arg_extreme(x: Array, a: int, name: str) -> Array:
    """First index of the extreme value along `a`, NaN counting as the most extreme; int64."""
    if is_complex(x) or x.shape[a] == 0:
        raise Decline(f"{name}(): complex numbers, or a dimension of size 0")
    if x.dtype == mx.bool_:
        x = x.astype(mx.uint8)
    index = getattr(mx, "arg" + name)(x, axis=a).astype(mx.int64)
    if is_float(x):
        nan = mx.isnan(x)
        index = mx.where(
            mx.any(nan, axis=a), mx.argmax(nan.astype(mx.uint8), axis=a).astype(mx.int64), index
        )
    return index


_extreme("max")
_extreme("min")


@op("aminmax", mlx="mx.min, mx.max")
def aminmax(x: Array, *, dim: int | None = None, keepdim: bool = False) -> tuple[Array, Array]:
    picked = axes(x, dim)
    _no_empty(x, picked, "aminmax")
    if is_complex(x) or not x.ndim:
        raise Decline("aminmax of a scalar or of complex numbers")
    return mx.min(x, axis=picked, keepdims=keepdim), mx.max(x, axis=picked, keepdims=keepdim)


def moments(x: Array, picked: list[int], keepdim: bool, correction: float) -> tuple[Array, Array]:
    """Variance and mean over `picked`, computed in float32 for 16-bit floats (two passes)."""
    w = upcast(x)
    n = math.prod(x.shape[a] for a in picked)
    if not picked:
        return (
            mx.zeros_like(x) if correction == 0 else mx.full(x.shape, math.nan, dtype=x.dtype)
        ), x[...]
    m = (
        mx.mean(w, axis=picked, keepdims=True)
        if n
        else mx.full(
            [1 if i in picked else s for i, s in enumerate(x.shape)], math.nan, dtype=w.dtype
        )
    )
    d = w - m
    square = mx.real(d) ** 2 + mx.imag(d) ** 2 if is_complex(w) else d * d
    free = max(n - correction, 0)
    total = mx.sum(square, axis=picked, keepdims=keepdim)
    v = (
        total / free
        if free
        else total / 0.0 if n else mx.full(total.shape, math.nan, dtype=total.dtype)
    )
    if not keepdim:
        m = mx.squeeze(m, picked)
    return (v if is_complex(x) else v.astype(x.dtype)), m.astype(x.dtype)


def _correction(correction: Any) -> float:
    return 1 if correction is None else correction


def _floating(x: Array) -> Array:
    if is_int(x):
        raise Decline("std and var only support floating point and complex dtypes")
    return x


@op("var.correction", mlx="mx.var")
def var(x: Array, dim: Dim = None, *, correction: Any = None, keepdim: bool = False) -> Array:
    return moments(_floating(x), axes(x, dim), keepdim, _correction(correction))[0]


@op("std.correction", mlx="mx.std")
def std(x: Array, dim: Dim = None, *, correction: Any = None, keepdim: bool = False) -> Array:
    w = upcast(_floating(x))
    v = mx.sqrt(moments(w, axes(x, dim), keepdim, _correction(correction))[0])
    return v if is_complex(x) else v.astype(x.dtype)


@op("var_mean.correction", mlx="mx.var, mx.mean")
def var_mean(
    x: Array, dim: Dim = None, *, correction: Any = None, keepdim: bool = False
) -> tuple[Array, Array]:
    return moments(_floating(x), axes(x, dim), keepdim, _correction(correction))


@op("std_mean.correction", mlx="mx.std, mx.mean")
def std_mean(
    x: Array, dim: Dim = None, *, correction: Any = None, keepdim: bool = False
) -> tuple[Array, Array]:
    v, m = moments(upcast(_floating(x)), axes(x, dim), keepdim, _correction(correction))
    s = mx.sqrt(v)
    return (s if is_complex(x) else s.astype(x.dtype)), m.astype(x.dtype)


@op("logsumexp", mlx="mx.logsumexp")
def logsumexp(x: Array, dim: Dim, keepdim: bool = False) -> Array:
    x = to_float(x)
    if is_complex(x) or not x.size:
        raise Decline("logsumexp of complex numbers or of nothing")
    return (
        mx.logsumexp(upcast(x), axis=axes(x, dim), keepdims=keepdim).astype(x.dtype)
        if x.ndim
        else x[...]
    )


@op("count_nonzero.dim_IntList", "count_nonzero", mlx="mx.sum")
def count_nonzero(x: Array, dim: Dim = None) -> Array:
    b = cast(x, mx.bool_).astype(mx.int64)
    return mx.sum(b, axis=axes(x, dim)) if x.ndim else b


@op("linalg_vector_norm", mlx="mx.linalg.norm", note="in float32 for 16-bit floats")
def vector_norm(
    x: Array, ord: Any = 2, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None
) -> Array:
    if is_int(x) or (dtype is not None and category[mx_dtype(dtype)] < category[x.dtype]):
        raise Decline("linalg.vector_norm: Expected a floating point or complex tensor as input.")
    x = compute(x, dtype)
    picked = axes(x, dim)
    out = mx.float32 if is_complex(x) else x.dtype
    size = mx.abs(upcast(x))
    n = math.prod(x.shape[a] for a in picked)
    if not x.ndim:
        return (cast(size != 0, out) if ord == 0 else size).astype(out)
    if not n and (ord == math.inf or ord < 0):
        raise Decline("linalg.vector_norm: the operation has no identity over no elements")

    def total(v: Array) -> Array:
        return mx.sum(v, axis=picked, keepdims=keepdim)

    if ord == 0:
        r = total((size != 0).astype(size.dtype))
    elif ord == 1:
        r = total(size)
    elif ord == 2:
        r = mx.sqrt(total(size * size))
    elif ord in (math.inf, -math.inf):
        r = (mx.max if ord > 0 else mx.min)(size, axis=picked, keepdims=keepdim)
    else:
        r = mx.power(total(mx.power(size, ord)), 1.0 / ord)
    return r.astype(out)


@op("norm.Scalar", "norm.ScalarOpt_dim", mlx="mx.linalg.norm")
def norm(x: Array, p: Any = 2, dim: Dim = None, keepdim: bool = False) -> Array:
    return vector_norm(x, 2 if p is None else p, dim, keepdim)


@op("norm.ScalarOpt_dtype", "norm.ScalarOpt_dim_dtype", mlx="mx.linalg.norm")
def norm_dtype(x: Array, p: Any, dim: Dim = None, keepdim: bool = False, *, dtype: Any) -> Array:
    return vector_norm(x, 2 if p is None else p, dim, keepdim, dtype=dtype)


def _softmax_float32(x: Array, dim: int, half_to_float: bool) -> Array:
    if not x.size or not x.ndim:
        raise Decline("no elements, or no axis")
    return mx.softmax(x, axis=dim)


@op("_softmax", mlx="mx.softmax", float32=_softmax_float32)
def softmax(x: Array, dim: int, half_to_float: bool) -> Array:
    return _soft(x, dim, half_to_float, lambda w, a: mx.softmax(w, axis=a, precise=True))


def _soft(x: Array, dim: int, half_to_float: bool, f: Any) -> Array:
    if not is_float(x):
        raise Decline("softmax is for floats")
    a = axis(x, dim)
    out = mx.float32 if half_to_float else x.dtype
    return (
        mx.reshape(f(at_least_1d(upcast(x)), a), x.shape).astype(out) if x.size else x.astype(out)
    )


@op("_log_softmax", mlx="mx.logsumexp, mx.subtract")
def log_softmax(x: Array, dim: int, half_to_float: bool) -> Array:
    return _soft(x, dim, half_to_float, lambda w, a: w - mx.logsumexp(w, axis=a, keepdims=True))


@op("_softmax_backward_data", mlx="mx.sum, mx.multiply")
def softmax_backward(g: Array, y: Array, dim: int, input_dtype: Any) -> Array:
    if not y.ndim:
        return mx.zeros((), dtype=mx_dtype(input_dtype))
    g, y = upcast(g), upcast(y)
    r = y * (g - mx.sum(g * y, axis=axis(y, dim), keepdims=True))
    return r.astype(mx_dtype(input_dtype))


@op("_log_softmax_backward_data", mlx="mx.sum, mx.exp")
def log_softmax_backward(g: Array, y: Array, dim: int, input_dtype: Any) -> Array:
    if not y.ndim:
        return mx.zeros((), dtype=mx_dtype(input_dtype))
    g, y = upcast(g), upcast(y)
    r = g - mx.exp(y) * mx.sum(g, axis=axis(y, dim), keepdims=True)
    return r.astype(mx_dtype(input_dtype))
