"""The greater and the smaller of two operands, and numbers kept within bounds."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.dtypes import cast, category, promote, result_type, scalar_like
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.pointwise import real
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


@op("maximum", mlx="mx.maximum")
def maximum(a: Array, b: Array) -> Array:
    x, y = promote(a, b)
    return mx.maximum(real(x), y)


@op("minimum", mlx="mx.minimum")
def minimum(a: Array, b: Array) -> Array:
    x, y = promote(a, b)
    return mx.minimum(real(x), y)


@op("fmax", mlx="mx.maximum, mx.where")
def fmax(a: Array, b: Array) -> Array:
    x, y = promote(a, b)
    return mx.where(mx.isnan(x), y, mx.where(mx.isnan(y), x, mx.maximum(real(x), y)))


@op("fmin", mlx="mx.minimum, mx.where")
def fmin(a: Array, b: Array) -> Array:
    x, y = promote(a, b)
    return mx.where(mx.isnan(x), y, mx.where(mx.isnan(y), x, mx.minimum(real(x), y)))


@op("clamp", "clamp.Tensor", mlx="mx.maximum, mx.minimum")
def clamp(x: Array, min: Any = None, max: Any = None) -> Array:
    if min is None and max is None:
        raise Decline("torch.clamp: At least one of 'min' or 'max' must not be None")
    dtype = result_type(x, *(v for v in (min, max) if v is not None))
    if category[dtype] in (0, 3):
        raise Decline("clamp is for real numbers")
    x = cast(x, dtype)
    if min is not None:
        low = cast(min, dtype) if isinstance(min, mx.array) else scalar_like(min, dtype)
        x = mx.maximum(x, low)
    if max is not None:
        high = cast(max, dtype) if isinstance(max, mx.array) else scalar_like(max, dtype)
        x = mx.minimum(x, high)
    return x


@op("clamp_min", "clamp_min.Tensor", mlx="mx.maximum")
def clamp_min(x: Array, min: Any) -> Array:
    return clamp(x, min, None)


@op("clamp_max", "clamp_max.Tensor", mlx="mx.minimum")
def clamp_max(x: Array, max: Any) -> Array:
    return clamp(x, None, max)
