"""View operators over arrays, for compiled graphs: in a functional graph a view is a value like any other.

The eager device does not use these; there a view is a second tensor over the same storage (``memory``).
"""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.dtypes import cast, compute, mx_dtype, scalar_like
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.axes import axis
from tdev_core.accelerators.mlx.ops.create import full
from tdev_core.accelerators.mlx.registry import Decline

Array = Any


def reshape(x: Array, shape: Any) -> Array:
    return mx.reshape(x, _filled(x, shape))


def _filled(x: Array, shape: Any) -> list[int]:
    """Give `shape` with its -1 replaced."""
    shape, known = list(shape), 1
    for n in shape:
        known *= n if n != -1 else 1
    return [x.size // known if n == -1 and known else max(n, 0) for n in shape]


def permute(x: Array, dims: Any) -> Array:
    return mx.transpose(x, [d % x.ndim for d in dims]) if x.ndim else x


def transpose(x: Array, dim0: int, dim1: int) -> Array:
    return mx.swapaxes(x, axis(x, dim0), axis(x, dim1)) if x.ndim else x


def t(x: Array) -> Array:
    return mx.transpose(x) if x.ndim == 2 else x


def expand(x: Array, size: Any, implicit: bool = False) -> Array:
    lead = len(size) - x.ndim
    return mx.broadcast_to(x, [x.shape[i - lead] if n == -1 else n for i, n in enumerate(size)])


def _range(x: Array, dim: int, start: int | None, end: int | None) -> tuple[int, int, int]:
    a = axis(x, dim)
    n = x.shape[a]
    start = 0 if start is None else max(start + n, 0) if start < 0 else min(start, n)
    end = n if end is None else max(end + n, 0) if end < 0 else min(end, n)
    return a, start, max(end, start)


def slice_(
    x: Array, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Array:
    a, start, end = _range(x, dim, start, end)
    if start == 0 and end == x.shape[a] and step == 1:
        return x
    return x[(*[slice(None)] * a, slice(start, end, step))]


def select(x: Array, dim: int, index: int) -> Array:
    a = axis(x, dim)
    return x[(*[slice(None)] * a, index)]


def squeeze(x: Array) -> Array:
    return mx.reshape(x, [n for n in x.shape if n != 1])


def squeeze_dim(x: Array, dim: Any) -> Array:
    dims = [axis(x, d) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]
    return mx.reshape(x, [n for i, n in enumerate(x.shape) if i not in dims or n != 1])


def unsqueeze(x: Array, dim: int) -> Array:
    return mx.expand_dims(x, dim % (x.ndim + 1))


def split(x: Array, size: int, dim: int = 0) -> list[Array]:
    n = x.shape[axis(x, dim)]
    return [slice_(x, dim, i, i + size) for i in range(0, max(n, 1), max(size, 1))]


def split_with_sizes(x: Array, sizes: Any, dim: int = 0) -> list[Array]:
    out, at = [], 0
    for n in sizes:
        out.append(slice_(x, dim, at, at + n))
        at += n
    return out


def unbind(x: Array, dim: int = 0) -> list[Array]:
    return [select(x, dim, i) for i in range(x.shape[axis(x, dim)])]


def as_strided(x: Array, size: Any, stride: Any, storage_offset: int | None = None) -> Array:
    raise Decline("as_strided in a graph needs the storage")


def same_value(x: Array, **_: Any) -> Array:
    return x


def diagonal(x: Array, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Array:
    return mx.diagonal(x, offset, dim1, dim2)


def unfold(x: Array, dimension: int, size: int, step: int) -> Array:
    a = axis(x, dimension)
    starts = mx.arange(0, x.shape[a] - size + 1, step)
    places = mx.expand_dims(starts, 1) + mx.arange(size)
    taken = mx.take(x, mx.reshape(places, (-1,)), axis=a)
    return mx.moveaxis(
        mx.reshape(taken, (*x.shape[:a], places.shape[0], size, *x.shape[a + 1 :])), a + 1, -1
    )


def _updated(x: Array, where: tuple[Any, ...], value: Array) -> Array:
    out = x[...]
    out[where] = value
    return out


def slice_scatter(
    x: Array,
    src: Array,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Array:
    a, start, end = _range(x, dim, start, end)
    return _updated(x, (*[slice(None)] * a, slice(start, end, step)), src)


def select_scatter(x: Array, src: Array, dim: int, index: int) -> Array:
    return _updated(x, (*[slice(None)] * axis(x, dim), index), src)


def slice_backward(g: Array, input_sizes: Any, dim: int, start: int, end: int, step: int) -> Array:
    return slice_scatter(mx.zeros(list(input_sizes), dtype=g.dtype), g, dim, start, end, step)


def select_backward(g: Array, input_sizes: Any, dim: int, index: int) -> Array:
    return select_scatter(mx.zeros(list(input_sizes), dtype=g.dtype), g, dim, index)


def copy(x: Array, src: Array, non_blocking: bool = False) -> Array:
    return mx.broadcast_to(cast(src, x.dtype), x.shape)


def fill(x: Array, value: Any) -> Array:
    value = cast(value, x.dtype) if isinstance(value, mx.array) else scalar_like(value, x.dtype)
    return mx.broadcast_to(value, x.shape)


def empty(size: Any, **options: Any) -> Array:
    options.pop("memory_format", None)
    return full(size, 0.0 if options.get("dtype") is None else 0, **options)


def empty_like(x: Array, *, dtype: Any = None, **_: Any) -> Array:
    return mx.zeros(x.shape, dtype=x.dtype if dtype is None else mx_dtype(dtype))


def new_full(x: Array, size: Any, value: Any, *, dtype: Any = None, **_: Any) -> Array:
    return mx.broadcast_to(
        scalar_like(value, x.dtype if dtype is None else mx_dtype(dtype)), tuple(size)
    )


def view_as_real(x: Array) -> Array:
    return mx.stack([mx.real(x), mx.imag(x)], axis=-1)


def view_as_complex(x: Array) -> Array:
    return mx.squeeze(mx.view(mx.contiguous(x), mx.complex64), -1)


def to_copy(x: Array, *, dtype: Any = None, **_: Any) -> Array:
    return compute(x, dtype)


GRAPH: dict[str, Any] = {
    "view.default": reshape, "_unsafe_view.default": reshape, "reshape.default": reshape, "view_copy.default": reshape,
    "permute.default": permute, "permute_copy.default": permute, "transpose.int": transpose, "transpose_copy.int": transpose,
    "t.default": t, "t_copy.default": t, "expand.default": expand, "expand_copy.default": expand,
    "slice.Tensor": slice_, "slice_copy.Tensor": slice_, "select.int": select, "select_copy.int": select,
    "squeeze.default": squeeze, "squeeze.dim": squeeze_dim, "squeeze.dims": squeeze_dim, "squeeze_copy.dim": squeeze_dim,
    "unsqueeze.default": unsqueeze, "unsqueeze_copy.default": unsqueeze, "split.Tensor": split,
    "split_with_sizes.default": split_with_sizes, "unbind.int": unbind, "as_strided.default": as_strided,
    "alias.default": same_value, "alias_copy.default": same_value, "detach.default": same_value,
    "detach_copy.default": same_value, "clone.default": same_value, "lift_fresh_copy.default": same_value,
    "diagonal.default": diagonal, "unfold.default": unfold, "slice_scatter.default": slice_scatter,
    "select_scatter.default": select_scatter, "slice_backward.default": slice_backward,
    "select_backward.default": select_backward, "copy.default": copy, "fill.Scalar": fill, "fill.Tensor": fill,
    "empty.memory_format": empty, "empty_like.default": empty_like, "new_full.default": new_full,
    "view_as_real.default": view_as_real, "view_as_complex.default": view_as_complex, "_to_copy.default": to_copy,
    "_efficientzerotensor.default": empty,
}  # fmt: skip
"""aten overload -> kernel over arrays, beside the eager device's rows for the same overloads."""
