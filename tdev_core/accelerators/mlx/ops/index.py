"""Gathering and scattering. All scatters go through positions in the flattened destination."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx.bounds import check, wrapped
from tdev_core.accelerators.mlx.dtypes import cast, category, is_complex, is_half, scalar_like
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.axes import axis
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def integers(index: Array) -> Array:
    if category[index.dtype] != 1:
        raise Decline("an index must be an integer tensor")
    return index


@op("index_select", mlx="mx.take")
def index_select(x: Array, dim: int, index: Array) -> Array:
    a = axis(x, dim)
    if index.ndim > 1 or not x.ndim:
        raise Decline("index_select wants a vector of indices")
    check(integers(index), x.shape[a])
    return mx.take(x, mx.reshape(index, (-1,)), axis=a)


@op("embedding", mlx="mx.take")
def embedding(
    weight: Array,
    indices: Array,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Array:
    if weight.ndim != 2:
        raise Decline("'weight' must be 2-D")
    check(integers(indices), weight.shape[0])
    return mx.take(weight, indices, axis=0)


@op("embedding_dense_backward", mlx="array.at.add")
def embedding_backward(
    g: Array, indices: Array, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Array:
    width = g.shape[-1]
    flat = mx.reshape(indices, (-1,))
    g2 = mx.reshape(g, (-1, width))
    if padding_idx >= 0:
        g2 = mx.where(mx.expand_dims(flat == padding_idx, 1), mx.zeros_like(g2), g2)
    if scale_grad_by_freq:
        n = mx.zeros((num_weights,), dtype=mx.float32).at[flat].add(mx.ones(flat.shape))
        g2 = (g2 / mx.expand_dims(n[flat], 1)).astype(g2.dtype)
    wide = g2.astype(mx.float32) if is_half(g2) else g2
    return mx.zeros((num_weights, width), dtype=wide.dtype).at[flat].add(wide).astype(g.dtype)


def positions(index: Array, dim: int, shape: tuple[int, ...]) -> Array:
    """Find where the elements ``[.., index[..], ..]`` lie in a flattened array of `shape`."""
    total: Any = 0
    step = 1
    for a in reversed(range(len(shape))):
        if a == dim:
            total = index.astype(mx.int64 if math.prod(shape) >= 2**31 else mx.int32) * step + total
        else:
            n = index.shape[a]
            total = (
                mx.reshape(
                    mx.arange(n, dtype=mx.int32) * step,
                    [n if i == a else 1 for i in range(len(shape))],
                )
                + total
            )
        step *= shape[a]
    return mx.broadcast_to(total, index.shape)


def _aligned(x: Array, dim: int, index: Array) -> tuple[Array, int, Array]:
    """Make everything at least one-dimensional, and check it."""
    a = axis(x, dim)
    if not x.ndim:
        x = mx.reshape(x, (1,))
    if not index.ndim:
        index = mx.reshape(index, (1,))
    if x.ndim != index.ndim:
        raise Decline("Index tensor must have the same number of dimensions as self tensor")
    if any(index.shape[i] > x.shape[i] for i in range(x.ndim) if i != a):
        raise Decline("Size does not match at a dimension other than the one indexed")
    check(integers(index), x.shape[a])
    return x, a, index


@op("gather", mlx="mx.take_along_axis")
def gather(x: Array, dim: int, index: Array, *, sparse_grad: bool = False) -> Array:
    shape = index.shape
    if not index.size:
        return mx.zeros(shape, dtype=x.dtype)
    x, a, index = _aligned(x, dim, index)
    cut = tuple(slice(None) if i == a else slice(0, n) for i, n in enumerate(index.shape))
    if any(x.shape[i] != n for i, n in enumerate(index.shape) if i != a):
        x = x[cut]
    return mx.reshape(mx.take_along_axis(x, index, axis=a), shape)


def _scatter(x: Array, dim: int, index: Array, source: Any, how: str) -> Array:
    shape = x.shape
    if not index.size:
        return x[...]
    x, a, index = _aligned(x, dim, index)
    if isinstance(source, mx.array):
        if source.dtype != x.dtype:
            raise Decline("scatter(): Expected self.dtype to be equal to src.dtype")
        if not source.ndim:
            source = mx.reshape(source, (1,))
        if source.ndim != index.ndim or any(
            s < n for s, n in zip(source.shape, index.shape, strict=True)
        ):
            raise Decline("Expected index to be no larger than src")
        if source.shape != index.shape:
            source = source[tuple(slice(0, n) for n in index.shape)]
    else:
        source = mx.broadcast_to(scalar_like(source, x.dtype), index.shape)
    place = mx.reshape(positions(index, a, x.shape), (-1,))
    return mx.reshape(combine(mx.reshape(x, (-1,)), place, mx.reshape(source, (-1,)), how), shape)


def combine(flat: Array, place: Array, source: Array, how: str) -> Array:
    """Give `flat` with `source` set, added, multiplied or min/maxed into the positions `place`."""
    if how == "set":
        flat = flat[...]
        flat[place] = source
        return flat
    if flat.dtype == mx.bool_:
        if how not in ("add", "maximum"):
            raise Decline("this reduction is not defined for bool")
        return combine(flat.astype(mx.uint8), place, source.astype(mx.uint8), "maximum") != 0
    if is_complex(flat):
        if how != "add":
            raise Decline("complex numbers have no order")
        re = combine(mx.real(flat), place, mx.real(source), "add")
        im = combine(mx.imag(flat), place, mx.imag(source), "add")
        return re + im * mx.array(1j, dtype=mx.complex64)
    if is_half(flat) and how in ("add", "multiply"):
        return getattr(flat.astype(mx.float32).at[place], how)(source.astype(mx.float32)).astype(
            flat.dtype
        )
    return getattr(flat.at[place], how)(source)


@op("scatter.src", "scatter.value", mlx="mx.put_along_axis")
def scatter(x: Array, dim: int, index: Array, src: Any) -> Array:
    return _scatter(x, dim, index, src, "set")


@op("scatter.reduce", "scatter.value_reduce", mlx="array.at.add, array.at.multiply")
def scatter_how(x: Array, dim: int, index: Array, src: Any, *, reduce: str) -> Array:
    return _scatter(x, dim, index, src, {"add": "add", "multiply": "multiply"}[reduce])


@op("scatter_add", mlx="array.at.add")
def scatter_add(x: Array, dim: int, index: Array, src: Array) -> Array:
    return _scatter(x, dim, index, src, "add")


_REDUCE = {"sum": "add", "mean": "add", "prod": "multiply", "amax": "maximum", "amin": "minimum"}


def _identity(dtype: Any, how: str) -> Array:
    if how in ("add", "multiply"):
        return mx.array(how == "multiply", dtype=dtype)
    if dtype == mx.bool_:
        raise Decline("amax and amin over bool are answered by the CPU")
    if category[dtype] == 2:
        return mx.array(-math.inf if how == "maximum" else math.inf, dtype=dtype)
    info = mx.iinfo(dtype)
    low, high = int(info.min), int(info.max)
    if dtype in (mx.int64, mx.uint64):
        return mx.array([low if how == "maximum" else high], dtype=dtype)[0]
    return mx.array(low if how == "maximum" else high, dtype=dtype)


@op("scatter_reduce.two", mlx="array.at.add, array.at.multiply, array.at.maximum, array.at.minimum")
def scatter_reduce(
    x: Array, dim: int, index: Array, src: Array, reduce: str, *, include_self: bool = True
) -> Array:
    how = _REDUCE[reduce]
    if reduce in ("mean", "amax", "amin", "prod") and category[x.dtype] != 2:
        raise Decline("this reduction over integers or complex numbers is answered by the CPU")
    shape = x.shape
    if not index.size:
        return x[...]
    flat, a, index = _aligned(x, dim, index)
    whole = flat.shape
    place = mx.reshape(positions(index, a, whole), (-1,))
    wide = flat.astype(mx.float32) if is_half(flat) else flat
    base = mx.reshape(wide, (-1,))
    src = (src if src.ndim else mx.reshape(src, (1,)))[
        tuple(slice(0, n) for n in index.shape)
    ].astype(wide.dtype)
    if not include_self:
        base = combine(base, place, mx.broadcast_to(_identity(base.dtype, how), place.shape), "set")
    out = combine(base, place, mx.reshape(src, (-1,)), how)
    if reduce == "mean":
        n = mx.full(base.shape, 1.0 if include_self else 0.0).at[place].add(mx.ones(place.shape))
        out = (out / mx.maximum(n, 1)).astype(out.dtype)
    return mx.reshape(out, shape).astype(x.dtype)


def _spread(x: Array, dim: int, index: Array) -> tuple[Array, int, Array]:
    if not x.ndim or index.ndim > 1:
        raise Decline("a scalar destination, or an index with dimensions")
    a = axis(x, dim)
    check(integers(index), x.shape[a])
    return x, a, mx.reshape(index, (-1,))


@op("index_add", mlx="array.at.add")
def index_add(x: Array, dim: int, index: Array, source: Array, *, alpha: Any = 1) -> Array:
    x, a, index = _spread(x, dim, index)
    if (
        source.dtype != x.dtype
        or source.ndim != x.ndim
        or source.shape != (*x.shape[:a], index.size, *x.shape[a + 1 :])
    ):
        raise Decline("index_add(): source does not fit self")
    if x.dtype == mx.bool_ or is_complex(x) or not index.size:
        raise Decline("index_add over bool or complex numbers, or of nothing")
    w = mx.float32 if is_half(x) else x.dtype
    s = source.astype(w) if alpha == 1 else source.astype(w) * scalar_like(alpha, w)
    return x.astype(w).at[(*[slice(None)] * a, index)].add(s).astype(x.dtype)


@op("index_copy", mlx="mx.put_along_axis")
def index_copy(x: Array, dim: int, index: Array, source: Array) -> Array:
    x, a, index = _spread(x, dim, index)
    if source.dtype != x.dtype or source.shape != (*x.shape[:a], index.size, *x.shape[a + 1 :]):
        raise Decline("index_copy_(): source does not fit self")
    return _set(x, a, index, source)


def _set(x: Array, a: int, index: Array, value: Array) -> Array:
    if not index.size:
        return x[...]
    out = x[...]
    out[(*[slice(None)] * a, index)] = value
    return out


@op("index_fill.int_Scalar", "index_fill.int_Tensor", mlx="mx.put_along_axis")
def index_fill(x: Array, dim: int, index: Array, value: Any) -> Array:
    if isinstance(value, mx.array):
        if value.ndim:
            raise Decline("index_fill_ only supports a 0-dimensional value tensor")
        value = cast(value, x.dtype)
    elif category[x.dtype] < 2 and isinstance(value, (float, complex)):
        raise Decline("a fractional number for an integer tensor")
    else:
        value = scalar_like(value, x.dtype)
    if not x.ndim or index.ndim > 1:
        raise Decline("a scalar destination")
    a = axis(x, dim)
    return _set(x, a, mx.reshape(wrapped(integers(index), x.shape[a]), (-1,)), value)
