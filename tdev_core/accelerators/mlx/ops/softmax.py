"""Softmax and its logarithm, with their gradients; 16-bit floats are computed in float32."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx.dtypes import is_float, mx_dtype, upcast
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops import sums
from tdev_core.accelerators.mlx.ops.axes import at_least_1d, axis
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def _softmax_float32(x: Array, dim: int, half_to_float: bool) -> Array:
    if not x.size or not x.ndim:
        raise Decline("no elements, or no axis")
    return sums.softmax(x, dim)


@op("_softmax", mlx="mx.softmax", float32=_softmax_float32)
def softmax(x: Array, dim: int, half_to_float: bool) -> Array:
    return _soft(x, dim, half_to_float, sums.softmax)


def _soft(x: Array, dim: int, half_to_float: bool, f: Any) -> Array:
    """Apply `f`, over an array and an axis, in float32 or wider."""
    if not is_float(x):
        raise Decline("softmax is for floats")
    a = axis(x, dim)
    out = mx.float32 if half_to_float else x.dtype
    if not x.size:
        return x.astype(out)
    return mx.reshape(f(at_least_1d(upcast(x)), a), x.shape).astype(out)


@op("_log_softmax", mlx="mx.logsumexp, mx.subtract")
def log_softmax(x: Array, dim: int, half_to_float: bool) -> Array:
    return _soft(x, dim, half_to_float, _log_softmax)


def _log_softmax(x: Array, axis: int) -> Array:
    r = sums.logsumexp(x, axis, keepdims=True)
    # Beside an infinity nothing is likely: torch says NaN of the whole row.
    return x - mx.where(r == math.inf, math.nan, r)


@op("_softmax_backward_data", mlx="mx.sum, mx.multiply")
def softmax_backward(g: Array, y: Array, dim: int, input_dtype: Any) -> Array:
    if not y.ndim:
        return mx.zeros((), dtype=mx_dtype(input_dtype))
    g, y = upcast(g), upcast(y)
    r = y * (g - sums.total(g * y, axis=axis(y, dim), keepdims=True))
    return r.astype(mx_dtype(input_dtype))


@op("_log_softmax_backward_data", mlx="mx.sum, mx.exp")
def log_softmax_backward(g: Array, y: Array, dim: int, input_dtype: Any) -> Array:
    if not y.ndim:
        return mx.zeros((), dtype=mx_dtype(input_dtype))
    g, y = upcast(g), upcast(y)
    r = g - mx.exp(y) * sums.total(g, axis=axis(y, dim), keepdims=True)
    return r.astype(mx_dtype(input_dtype))
