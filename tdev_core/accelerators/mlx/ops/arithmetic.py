"""Element-wise operators of two or more operands, promoted by torch's rules."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import (
    category,
    default_float,
    is_complex,
    is_half,
    is_int,
    promote,
    result_type,
    scalar_like,
    to_float,
)
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.pointwise import real
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def exact(value: float, a: Array) -> bool:
    """Tell whether a number survives being stored in the 16-bit type of `a`."""
    return bool(value == value and runtime.item(mx.array(value, dtype=a.dtype)) == value)


def pair(a: Array, b: Array) -> tuple[Array, Array, Any]:
    """Bring both operands to the type to compute in, and the type of the result.

    A number that a 16-bit float cannot hold is used in float32, as torch does: 0.1 is not rounded first.
    """
    array = mx.array
    if isinstance(a, array):
        if isinstance(b, array):
            if a.dtype == b.dtype:
                return a, b, a.dtype
        elif category[a.dtype] >= _kind(b):
            if not is_half(a) or exact(b, a):
                return a, scalar_like(b, a.dtype), a.dtype
            return a.astype(mx.float32), mx.array(b, dtype=mx.float32), a.dtype
    elif isinstance(b, array):
        b, a, dtype = pair(b, a)
        return a, b, dtype
    x, y = promote(a, b)
    return x, y, x.dtype


def _kind(b: Any) -> int:
    kind = type(b)
    return 0 if kind is bool else 1 if kind is int else 2 if kind is float else 3


def direct(a: Any, b: Any) -> bool:
    """Tell whether MLX's own arithmetic on the two is torch's: one dtype, or float32 and a Python number."""
    kind = type(b)
    if kind is float or kind is int:
        return bool(type(a) is mx.array and a.dtype == mx.float32)
    return bool(
        kind is mx.array and type(a) is mx.array and a.dtype == b.dtype and a.dtype != mx.bool_
    )


def back(result: Array, dtype: Any) -> Array:
    return result if result.dtype == dtype else result.astype(dtype)


@op(
    "add.Tensor",
    "add.Scalar",
    mlx="mx.add",
    note="alpha by mx.multiply; logical or for bool",
    float32="add",
)
def add(a: Array, b: Array, alpha: Any = 1) -> Array:
    if alpha == 1 and direct(a, b):
        return mx.add(a, b)
    x, y, dtype = pair(a, b)
    if dtype == mx.bool_:
        return mx.logical_or(x, y) if alpha else x | (y & False)
    return back(mx.add(x, y if alpha == 1 else _times(y, alpha)), dtype)


def _times(y: Array, alpha: Any) -> Array:
    if isinstance(alpha, (float, complex)) and category[y.dtype] < _kind(alpha):
        raise Decline(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if is_half(y):
        y = y.astype(mx.float32)
    return y * scalar_like(alpha, y.dtype)


@op("sub.Tensor", "sub.Scalar", mlx="mx.subtract", float32="subtract")
def sub(a: Array, b: Array, alpha: Any = 1) -> Array:
    if alpha == 1 and direct(a, b):
        return mx.subtract(a, b)
    x, y, dtype = pair(a, b)
    if any(
        (v.dtype == mx.bool_) if isinstance(v, mx.array) else v is True or v is False
        for v in (a, b)
    ):
        raise Decline("Subtraction, the `-` operator, with a bool tensor is not supported.")
    return back(mx.subtract(x, y if alpha == 1 else _times(y, alpha)), dtype)


@op("rsub.Tensor", "rsub.Scalar", mlx="mx.subtract")
def rsub(a: Array, b: Array, alpha: Any = 1) -> Array:
    return sub(b, a, alpha=alpha)


@op("mul.Tensor", "mul.Scalar", mlx="mx.multiply", float32="multiply")
def mul(a: Array, b: Array) -> Array:
    if direct(a, b):
        return mx.multiply(a, b)
    x, y, dtype = pair(a, b)
    return mx.logical_and(x, y) if dtype == mx.bool_ else back(mx.multiply(x, y), dtype)


@op("div.Tensor", "div.Scalar", "true_divide.Tensor", mlx="mx.divide", float32="divide")
def div(a: Array, b: Array) -> Array:
    if type(a) is mx.array and a.dtype == mx.float32 and direct(a, b):
        return mx.divide(a, b)
    if category[result_type(a, b)] < 2:  # numbers are not wrapped into the integers' range first
        dtype = default_float()
        x, y = (
            v.astype(dtype) if isinstance(v, mx.array) else scalar_like(v, dtype) for v in (a, b)
        )
        return mx.divide(x, y)
    x, y, dtype = pair(a, b)
    return back(mx.divide(x, y), dtype)


@op("pow.Tensor_Tensor", "pow.Tensor_Scalar", "pow.Scalar", mlx="mx.power")
def power(a: Array, b: Array) -> Array:
    x, y, dtype = pair(a, b)
    if category[dtype] == 0:
        raise Decline("pow is not defined for bool")
    if category[dtype] == 1:
        if not isinstance(b, mx.array):
            if b < 0:
                raise Decline("Integers to negative integer powers are not allowed.")
            return mx.power(x, y)
        return _int_power(x, y)
    if category[dtype] == 2 and not isinstance(b, mx.array) and isinstance(a, mx.array):
        if b == 2:
            return mx.square(a)
        if b == 0.5:
            return mx.sqrt(a)
        if b == 1:
            return a[...]
        if b == 3:
            return a * a * a
    if is_complex(x):
        if not isinstance(b, mx.array) and b in (0, 1, 2):
            return mx.ones_like(x) if b == 0 else x if b == 1 else x * x
        return _complex_power(x, y)
    return back(mx.power(x, y), dtype)


def _int_power(x: Array, y: Array) -> Array:
    # Negative exponents: 1, -1 or 0, as torch's CPU kernel answers element by element.
    p = mx.power(x, mx.where(y < 0, mx.zeros_like(y), y))
    odd = (y % 2) != 0
    inverse = mx.where(x == 1, 1, mx.where(x == -1, mx.where(odd, -1, 1), 0)).astype(x.dtype)
    return mx.where(y < 0, inverse, p)


def _complex_power(x: Array, y: Array) -> Array:
    # Zero to a power is what the complex logarithm makes of it, as in torch: 0, or nan for 0, or inf for a negative one.
    zero = x == 0
    p = mx.exp(y * mx.log(mx.where(zero, mx.ones_like(x), x)))
    nan, real = math.nan, mx.real(y)
    low = mx.where(real < 0, mx.array(complex(math.inf, nan)), mx.array(complex(nan, nan)))
    return mx.where(zero, mx.where(real > 0, mx.zeros_like(p), low), p)


@op("atan2", mlx="mx.arctan2")
def atan2(a: Array, b: Array) -> Array:
    x, y, _ = pair(a, b)
    return mx.arctan2(to_float(real(x)), to_float(y))


@op("hypot", mlx="mx.abs of complex", note="scaled square root")
def hypot(a: Array, b: Array) -> Array:
    x, y, dtype = pair(a, b)
    if category[dtype] != 2:
        raise Decline("hypot is for floats")
    x, y = mx.abs(x.astype(mx.float32)), mx.abs(y.astype(mx.float32))
    infinite = mx.isinf(x) | mx.isinf(y)
    big, small = mx.maximum(x, y), mx.minimum(x, y)
    ratio = small / mx.where(big == 0, mx.ones_like(big), big)
    return mx.where(infinite, math.inf, big * mx.sqrt(1 + ratio * ratio)).astype(dtype)


@op("copysign.Tensor", "copysign.Scalar", mlx="mx.where")
def copysign(a: Array, b: Array) -> Array:
    x, y, _ = pair(a, b)
    x, y = to_float(real(x)), to_float(real(y))
    size = mx.abs(x)
    wide = y.astype(mx.float32)
    return mx.where(wide.view(mx.int32) < 0, -size, size)


@op("logaddexp", mlx="mx.logaddexp")
def logaddexp(a: Array, b: Array) -> Array:
    x, y, dtype = pair(a, b)
    if category[dtype] != 2:
        raise Decline("logaddexp is for floats")
    return mx.logaddexp(x, y)


@op("logaddexp2", mlx="mx.logaddexp")
def logaddexp2(a: Array, b: Array) -> Array:
    x, y, dtype = pair(a, b)
    if category[dtype] != 2:
        raise Decline("logaddexp2 is for floats")
    ln2 = math.log(2)
    return (mx.logaddexp(x.astype(mx.float32) * ln2, y.astype(mx.float32) * ln2) / ln2).astype(
        dtype
    )


@op("xlogy.Tensor", "xlogy.Scalar_Self", "xlogy.Scalar_Other", mlx="mx.log, mx.where")
def xlogy(a: Array, b: Array) -> Array:
    x, y, _ = pair(a, b)
    x, y = to_float(real(x)), to_float(real(y))
    r = mx.where(x == 0, mx.zeros_like(y), x * mx.log(y))
    return mx.where(mx.isnan(y), y, r)


@op("lerp.Scalar", "lerp.Tensor", mlx="mx.multiply, mx.add")
def lerp(a: Array, b: Array, weight: Any) -> Array:
    if (
        a.dtype != b.dtype
        or is_int(a)
        or (isinstance(weight, mx.array) and weight.dtype != a.dtype)
    ):
        raise Decline("lerp wants one floating dtype")
    dtype = a.dtype
    if is_half(a):
        a, b = a.astype(mx.float32), b.astype(mx.float32)
        weight = weight.astype(mx.float32) if isinstance(weight, mx.array) else weight
    if not isinstance(weight, mx.array):
        low = abs(weight) < 0.5
        r = (
            a + (b - a) * scalar_like(weight, a.dtype)
            if low
            else b - (b - a) * scalar_like(1 - weight, a.dtype)
        )
        return back(r, dtype)
    r = mx.where(mx.abs(weight) < 0.5, a + weight * (b - a), b - (b - a) * (1 - weight))
    return back(r, dtype)


@op("addcmul", mlx="mx.multiply, mx.add")
def addcmul(x: Array, a: Array, b: Array, *, value: Any = 1) -> Array:
    x, a, b = promote(x, a, b)
    if x.dtype == mx.bool_:
        raise Decline("addcmul is not defined for bool")
    dtype = x.dtype
    if is_half(x):
        x, a, b = (v.astype(mx.float32) for v in (x, a, b))
    return back(x + (a * b if value == 1 else _times(a, value) * b), dtype)


@op("addcdiv", mlx="mx.divide, mx.add")
def addcdiv(x: Array, a: Array, b: Array, *, value: Any = 1) -> Array:
    x, a, b = promote(x, a, b)
    if is_int(x):
        raise Decline("Integer division with addcdiv is no longer supported")
    dtype = x.dtype
    if is_half(x):
        x, a, b = (v.astype(mx.float32) for v in (x, a, b))
    return back(x + (a / b if value == 1 else _times(a, value) / b), dtype)
