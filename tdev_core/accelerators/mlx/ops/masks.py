"""Masks, and indexing with several tensors at once."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.bounds import wrapped
from tdev_core.accelerators.mlx.dtypes import cast, category, scalar_like
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.index import combine, integers
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def _mask(mask: Array) -> Array:
    if mask.dtype != mx.bool_:
        raise Decline("masks are bool tensors")
    return mask


@op("masked_fill.Scalar", "masked_fill.Tensor", mlx="mx.where")
def masked_fill(x: Array, mask: Array, value: Any) -> Array:
    if isinstance(value, mx.array):
        if value.ndim:
            raise Decline("masked_fill only supports a 0-dimensional value tensor")
        value = cast(value, x.dtype)
    elif category[x.dtype] < (
        3 if isinstance(value, complex) else 2 if isinstance(value, float) else 0
    ):
        raise Decline("value cannot be converted to the tensor's type without overflow")
    else:
        value = scalar_like(value, x.dtype)
    return mx.where(_mask(mask), value, x)


def true_positions(mask: Array) -> Array:
    """Find the indices of the true elements of a flat mask, in order; waits for their number."""
    n = int(runtime.item(mx.sum(mask.astype(mx.int32)))) if mask.size else 0
    if not n:
        return mx.zeros((0,), dtype=mx.int64)
    rank = mx.cumsum(mask.astype(mx.int32)) - 1
    out = mx.zeros((n + 1,), dtype=mx.int64)
    out[mx.where(mask, rank, n)] = mx.arange(mask.size, dtype=mx.int64)
    return out[:n]


@op(
    "nonzero",
    mlx="mx.cumsum, mx.put_along_axis",
    note="waits for the number of elements",
    compiled=False,
)
def nonzero(x: Array) -> Array:
    flat = true_positions(mx.reshape(cast(x, mx.bool_), (-1,)))
    columns = []
    for n in reversed(x.shape):
        columns.append(flat % n if n else flat)
        flat = flat // n if n else flat
    return (
        mx.stack(columns[::-1], axis=1).astype(mx.int64)
        if columns
        else mx.zeros((flat.size, 0), dtype=mx.int64)
    )


@op("masked_select", mlx="mx.take", note="waits for the number of elements", compiled=False)
def masked_select(x: Array, mask: Array) -> Array:
    x, mask = mx.broadcast_arrays(x, _mask(mask))
    return mx.take(mx.reshape(x, (-1,)), true_positions(mx.reshape(mask, (-1,))))


@op("masked_scatter", mlx="mx.cumsum, mx.take, mx.where", compiled=False)
def masked_scatter(x: Array, mask: Array, source: Array) -> Array:
    if source.dtype != x.dtype:
        raise Decline("masked_scatter: expected self and source to have same dtypes")
    shape = mx.broadcast_shapes(x.shape, mask.shape)
    mask = mx.reshape(mx.broadcast_to(_mask(mask), shape), (-1,))
    flat = mx.reshape(mx.broadcast_to(x, shape), (-1,))
    if not flat.size:
        return mx.reshape(flat, shape)
    n = int(runtime.item(mx.sum(mask.astype(mx.int32))))
    if n > source.size:
        raise Decline("Number of elements of source < number of ones in mask")
    if not n:
        return mx.reshape(flat, shape)
    rank = mx.maximum(mx.cumsum(mask.astype(mx.int32)) - 1, 0)
    return mx.reshape(mx.where(mask, mx.take(mx.reshape(source, (-1,)), rank), flat), shape)


# --- x[i, j, …] -------------------------------------------------------------------------------------


class _Plan:
    """An advanced index: the indexed axes brought to the front, and one linear index over them."""

    def __init__(self, x: Array, indices: Any) -> None:
        expanded: list[Array | None] = []
        for index in indices:
            if index is None:
                expanded.append(None)
            elif index.dtype in (mx.bool_, mx.uint8):
                at = len(expanded)
                if index.shape != x.shape[at : at + index.ndim]:
                    raise Decline(
                        "the shape of the mask does not match the shape of the indexed tensor"
                    )
                hits = nonzero(index)
                expanded.extend(hits[:, i] for i in range(index.ndim))
                if not index.ndim:
                    raise Decline("a zero-dimensional mask")
            else:
                expanded.append(integers(index))
        if len(expanded) > x.ndim:
            raise Decline("too many indices for tensor")
        axes_ = [i for i, e in enumerate(expanded) if e is not None]
        parts = [wrapped(expanded[i], x.shape[i]) for i in axes_]
        self.shape = mx.broadcast_shapes(*[p.shape for p in parts])
        linear: Any = 0
        for p, a in zip(parts, axes_, strict=True):
            linear = linear * x.shape[a] + p.astype(mx.int64)
        self.linear = mx.reshape(mx.broadcast_to(linear, self.shape), (-1,))
        self.rest = [i for i in range(x.ndim) if i not in axes_]
        self.order = axes_ + self.rest
        self.size = math.prod(x.shape[a] for a in axes_)
        self.kept = tuple(x.shape[i] for i in self.rest)
        adjacent = axes_ == list(range(axes_[0], axes_[-1] + 1))
        self.front = axes_[0] if adjacent else 0
        self.identity = self.order == list(range(x.ndim))

    def rows(self, x: Array) -> Array:
        moved = x if self.identity else mx.transpose(x, self.order)
        return mx.reshape(moved, (self.size, *self.kept))

    def result_axes(self) -> list[int]:
        """Compute the permutation from (index axes, rest) to torch's order of the result."""
        k, n = len(self.shape), len(self.kept)
        return list(range(k, k + self.front)) + list(range(k)) + list(range(k + self.front, k + n))


@op("index.Tensor", "_unsafe_index.Tensor", mlx="mx.take")
def index(x: Array, indices: Any) -> Array:
    plan = _Plan(x, indices)
    taken = mx.reshape(mx.take(plan.rows(x), plan.linear, axis=0), (*plan.shape, *plan.kept))
    return mx.transpose(taken, plan.result_axes()) if plan.front else taken


@op("index_put", "_unsafe_index_put", mlx="array.at.add")
def index_put(x: Array, indices: Any, values: Array, accumulate: bool = False) -> Array:
    if values.dtype != x.dtype:
        raise Decline("Index put requires the source and destination dtypes match")
    plan = _Plan(x, indices)
    order = plan.result_axes()
    whole = (*plan.shape, *plan.kept)
    values = mx.broadcast_to(values, [whole[i] for i in order])
    if plan.front:
        values = mx.transpose(values, [order.index(i) for i in range(len(order))])
    rows = plan.rows(x)
    if plan.linear.size and values.size:
        rows = combine(
            rows,
            plan.linear,
            mx.reshape(values, (plan.linear.size, *plan.kept)),
            "add" if accumulate else "set",
        )
    out = mx.reshape(rows, [x.shape[i] for i in plan.order])
    return out if plan.identity else mx.transpose(out, [plan.order.index(i) for i in range(x.ndim)])


@op("take", mlx="mx.take")
def take(x: Array, index: Array) -> Array:
    if not x.size:
        raise Decline("take(): tried to take from an empty tensor")
    return mx.take(mx.reshape(x, (-1,)), wrapped(integers(index), x.size))


@op("put", mlx="array.at.add")
def put(x: Array, index: Array, source: Array, accumulate: bool = False) -> Array:
    if source.dtype != x.dtype or index.size != source.size or not x.size:
        raise Decline("put_(): self and source must have one dtype, index and source one size")
    place = mx.reshape(wrapped(integers(index), x.size), (-1,))
    if not place.size:
        return x[...]
    flat = combine(
        mx.reshape(x, (-1,)), place, mx.reshape(source, (-1,)), "add" if accumulate else "set"
    )
    return mx.reshape(flat, x.shape)
