"""Joining, repeating, reordering: results are new tensors. (Views are in ``memory`` and, for graphs, in ``views``.)"""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import cast, result_type, scalar_like
from tdev_core.accelerators.mlx.lazy import mx, np
from tdev_core.accelerators.mlx.ops import sums
from tdev_core.accelerators.mlx.ops.axes import axes, axis
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def _cat_float32(arrays: list[Array], dim: int = 0) -> Array:
    if not all([x.ndim and x.ndim == arrays[0].ndim and x.size for x in arrays]):
        raise Decline("arrays without elements, or of different rank")
    return mx.concatenate(arrays, axis=dim)


@op("cat", mlx="mx.concatenate", float32=_cat_float32)
def cat(tensors: list[Array], dim: int = 0) -> Array:
    dtype = result_type(*tensors)
    kept = [
        t for t in tensors if t.shape != (0,)
    ]  # torch skips legacy empty vectors whatever the other shapes
    if not kept:
        return mx.zeros((0,), dtype=dtype)
    if any(t.ndim != kept[0].ndim or not t.ndim for t in kept):
        raise Decline("Tensors must have same number of dimensions")
    return mx.concatenate([cast(t, dtype) for t in kept], axis=axis(kept[0], dim))


@op("stack", mlx="mx.stack")
def stack(tensors: list[Array], dim: int = 0) -> Array:
    n = tensors[0].ndim + 1
    if not -n <= dim < n or any(t.shape != tensors[0].shape for t in tensors):
        raise Decline("stack expects each tensor to be equal size")
    dtype = result_type(*tensors)
    return mx.stack([cast(t, dtype) for t in tensors], axis=dim % n)


@op("flip", mlx="mx.flip")
def flip(x: Array, dims: Any) -> Array:
    picked = axes(x, dims, empty_means_all=False)
    return (
        x[tuple(slice(None, None, -1) if i in picked else slice(None) for i in range(x.ndim))]
        if picked
        else x[...]
    )


@op("roll", mlx="mx.roll")
def roll(x: Array, shifts: Any, dims: Any = ()) -> Array:
    if not x.size:
        return x[...]
    if not len(dims):
        if len(shifts) != 1:
            raise Decline("shifts and dimensions must align")
        return mx.roll(x, shifts[0])
    if len(dims) != len(shifts) or not x.ndim:
        raise Decline("shifts and dimensions must align")
    for s, d in zip(shifts, dims, strict=True):
        x = mx.roll(x, s, axis(x, d))
    return x


@op("repeat", mlx="mx.tile")
def repeat(x: Array, repeats: Any) -> Array:
    if len(repeats) < x.ndim or any(r < 0 for r in repeats):
        raise Decline(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    shape = [1] * (len(repeats) - x.ndim) + list(x.shape)
    if not x.size or 0 in repeats:
        return mx.zeros([n * r for n, r in zip(shape, repeats, strict=True)], dtype=x.dtype)
    return mx.tile(mx.reshape(x, shape), list(repeats)) if shape else x[...]


@op("repeat_interleave.Tensor", mlx="mx.array", note="waits for the counts", compiled=False)
def repeat_interleave(repeats: Array, *, output_size: int | None = None) -> Array:
    if repeats.ndim != 1:
        raise Decline("repeat_interleave only accepts 1D vector as repeat")
    counts = np.array(runtime.values(repeats), dtype=np.int64)
    if (counts < 0).any():
        raise Decline("repeats can not be negative")
    return mx.array(np.repeat(np.arange(len(counts), dtype=np.int64), counts)).astype(repeats.dtype)


@op("tril", mlx="mx.tril")
def tril(x: Array, diagonal: int = 0) -> Array:
    if x.ndim < 2:
        raise Decline("tril: input tensor must have at least 2 dimensions")
    return mx.where(triangle(x.shape[-2], x.shape[-1], diagonal), x, mx.zeros_like(x))


@op("triu", mlx="mx.triu")
def triu(x: Array, diagonal: int = 0) -> Array:
    if x.ndim < 2:
        raise Decline("triu: input tensor must have at least 2 dimensions")
    return mx.where(triangle(x.shape[-2], x.shape[-1], diagonal - 1), mx.zeros_like(x), x)


def triangle(rows: int, columns: int, diagonal: int) -> Array:
    """Make a mask that is true on and below the diagonal."""
    return mx.expand_dims(mx.arange(rows), 1) + diagonal >= mx.arange(columns)


@op("constant_pad_nd", mlx="mx.pad")
def constant_pad_nd(x: Array, pad: Any, value: Any = 0) -> Array:
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise Decline("Length of pad must be even and no more than twice the number of dimensions")
    pairs = [(0, 0)] * (x.ndim - len(pad) // 2) + [
        (pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)
    ]
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, x.shape, strict=True))
    if any(s.stop < s.start for s in cut) or any(
        n + a + b < 0 for (a, b), n in zip(pairs, x.shape, strict=True)
    ):
        raise Decline("the padding takes away more than there is")
    if any(a < 0 or b < 0 for a, b in pairs):
        x = x[cut]

    grow = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if not x.size:
        return mx.full(
            [n + a + b for (a, b), n in zip(grow, x.shape, strict=True)],
            scalar_like(value, x.dtype),
        )
    return (
        mx.pad(x, grow, constant_values=scalar_like(value, x.dtype))
        if any(map(any, grow))
        else x[...]
    )


def _mirror(name: str, n: int, offsets: Any) -> None:
    @op(name, mlx="mx.take")
    def kernel(x: Array, padding: Any) -> Array:
        if len(padding) != 2 * n or x.ndim not in (n + 1, n + 2) or 0 in x.shape[-n:]:
            raise Decline("the padding does not fit the tensor")
        for i in range(n):
            a, (left, right) = x.ndim - 1 - i, (padding[2 * i], padding[2 * i + 1])
            x = mx.take(x, mx.array(offsets(x.shape[a], left, right)), axis=a)
        return x

    @op(f"{name}_backward", mlx="array.at.add")
    def backward(g: Array, x: Array, padding: Any) -> Array:
        for i in reversed(range(n)):
            a, (left, right) = x.ndim - 1 - i, (padding[2 * i], padding[2 * i + 1])
            place = mx.array(offsets(x.shape[a], left, right))
            shape = [*g.shape[:a], x.shape[a], *g.shape[a + 1 :]]
            if g.dtype == mx.complex64:
                raise Decline("MLX adds no complex numbers at indices")
            g = mx.zeros(shape, dtype=g.dtype).at[(*[slice(None)] * a, place)].add(g)
        return g


def _reflected(n: int, left: int, right: int) -> Any:
    if left >= n or right >= n:
        raise Decline("Padding size should be less than the corresponding input dimension")
    i = np.abs(np.arange(-left, n + right))
    return np.where(i >= n, 2 * (n - 1) - i, i).astype(np.int32)


def _replicated(n: int, left: int, right: int) -> Any:
    return np.clip(np.arange(-left, n + right), 0, n - 1).astype(np.int32)


for _n in (1, 2, 3):
    _mirror(f"reflection_pad{_n}d", _n, _reflected)
    _mirror(f"replication_pad{_n}d", _n, _replicated)


@op("trace", mlx="mx.trace")
def trace(x: Array) -> Array:
    if x.ndim != 2 or not x.size:
        raise Decline("trace: expected a matrix")
    total = sums.total(mx.diagonal(x))
    return (
        total.astype(mx.int64)
        if x.dtype in (mx.int8, mx.int16, mx.int32, mx.uint8, mx.bool_)
        else total.astype(x.dtype)
    )


@op("diag_embed", mlx="mx.eye, mx.where")
def diag_embed(x: Array, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Array:
    n = x.ndim + 1
    a, b = dim1 % n, dim2 % n
    if a == b or not x.ndim:
        raise Decline("diagonal dimensions cannot be identical")
    size = x.shape[-1] + abs(offset)
    column = (
        mx.pad(mx.expand_dims(x, -2), [(0, 0)] * x.ndim + [(max(offset, 0), max(-offset, 0))])
        if offset
        else mx.expand_dims(x, -2)
    )
    rows = mx.expand_dims(mx.arange(size), 1)
    out = mx.where(mx.arange(size) == rows + offset, column, mx.zeros((), dtype=x.dtype))
    order = [i for i in range(n) if i not in (a, b)]
    axes_ = [0] * n
    for at, i in enumerate(order):
        axes_[i] = at
    axes_[a], axes_[b] = n - 2, n - 1
    return mx.transpose(out, axes_)
