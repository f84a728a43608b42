"""Vector norms of any order over axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tdev_core.accelerators.mlx.dtypes import (
    category,
    compute,
    is_complex,
    is_int,
    mx_dtype,
    upcast,
)
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops import sums
from tdev_core.accelerators.mlx.ops.axes import Dim, axes
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


_ORDERS: dict[float, Callable[..., Array]] = {
    0: lambda sizes, **over: sums.total((sizes != 0).astype(sizes.dtype), **over),
    1: lambda sizes, **over: sums.total(sizes, **over),
    2: lambda sizes, **over: mx.sqrt(sums.total(sizes * sizes, **over)),
    math.inf: lambda sizes, **over: mx.max(sizes, **over),
    -math.inf: lambda sizes, **over: mx.min(sizes, **over),
}
"""The orders that have a formula of their own, over absolute values."""


@op("linalg_vector_norm", mlx="mx.linalg.norm", note="in float32 for 16-bit floats")
def vector_norm(
    x: Array, ord: Any = 2, dim: Dim = None, keepdim: bool = False, *, dtype: Any = None
) -> Array:
    if is_int(x) or (dtype is not None and category[mx_dtype(dtype)] < category[x.dtype]):
        raise Decline("linalg.vector_norm: Expected a floating point or complex tensor as input.")
    x = compute(x, dtype)
    out = mx.float32 if is_complex(x) else x.dtype
    picked = axes(x, dim)
    sizes = mx.abs(upcast(x))
    if not x.ndim:
        return (sizes != 0 if ord == 0 else sizes).astype(out)
    if not all(x.shape[a] for a in picked) and (ord == math.inf or ord < 0):
        raise Decline("linalg.vector_norm: the operation has no identity over no elements")
    over = {"axis": picked, "keepdims": keepdim}
    formula = _ORDERS.get(ord)
    r = _of_order(sizes, ord, over) if formula is None else formula(sizes, **over)
    return r.astype(out)


def _of_order(sizes: Array, order: float, over: dict[str, Any]) -> Array:
    return mx.power(sums.total(mx.power(sizes, order), **over), 1.0 / order)


@op("norm.Scalar", "norm.ScalarOpt_dim", mlx="mx.linalg.norm")
def norm(x: Array, p: Any = 2, dim: Dim = None, keepdim: bool = False) -> Array:
    return vector_norm(x, 2 if p is None else p, dim, keepdim)


@op("norm.ScalarOpt_dtype", "norm.ScalarOpt_dim_dtype", mlx="mx.linalg.norm")
def norm_dtype(x: Array, p: Any, dim: Dim = None, keepdim: bool = False, *, dtype: Any) -> Array:
    return vector_norm(x, 2 if p is None else p, dim, keepdim, dtype=dtype)
