"""Bits of integers, parts of complex numbers, and element-wise choice."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx.dtypes import (
    category,
    is_complex,
    is_float,
    is_int,
    promote,
    scalar_like,
    to_float,
)
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.pointwise import real
from tdev_core.accelerators.mlx.registry import Decline, op, same

Array = Any


def _bitwise(name: str, integer: str, boolean: str) -> None:
    @op(f"{name}.Tensor", f"{name}.Scalar", f"{name}.Scalar_Tensor", mlx=f"mx.{integer}")
    def kernel(a: Array, b: Array) -> Array:
        x, y = promote(a, b)
        if x.dtype == mx.bool_:
            return getattr(mx, boolean)(x, y)
        if category[x.dtype] != 1:
            raise Decline("bitwise operators are for integers")
        return getattr(mx, integer)(x, y)


_bitwise("bitwise_and", "bitwise_and", "logical_and")
_bitwise("bitwise_or", "bitwise_or", "logical_or")
_bitwise("bitwise_xor", "bitwise_xor", "not_equal")


@op("bitwise_not", mlx="mx.bitwise_invert")
def bitwise_not(x: Array) -> Array:
    if x.dtype == mx.bool_:
        return mx.logical_not(x)
    if category[x.dtype] != 1:
        raise Decline("bitwise_not is for integers")
    return mx.bitwise_invert(x)


@op("bitwise_left_shift.Tensor", "bitwise_left_shift.Tensor_Scalar", "bitwise_left_shift.Scalar_Tensor",
    "__lshift__.Scalar", "__lshift__.Tensor", mlx="mx.left_shift")  # fmt: skip
def left_shift(a: Array, b: Array) -> Array:
    x, y = promote(a, b)
    if category[x.dtype] != 1:
        raise Decline("shifts are for integers")
    wide = (y < 0) | (y >= x.dtype.size * 8)
    return mx.where(wide, mx.zeros_like(x), mx.left_shift(x, mx.where(wide, mx.zeros_like(y), y)))


@op("bitwise_right_shift.Tensor", "bitwise_right_shift.Tensor_Scalar", "bitwise_right_shift.Scalar_Tensor",
    "__rshift__.Scalar", "__rshift__.Tensor", mlx="mx.right_shift")  # fmt: skip
def right_shift(a: Array, b: Array) -> Array:
    x, y = promote(a, b)
    if category[x.dtype] != 1:
        raise Decline("shifts are for integers")
    bits = x.dtype.size * 8
    wide = (y < 0) | (y >= bits)
    return mx.right_shift(x, mx.where(wide, mx.array(bits - 1, dtype=y.dtype), y))


# --- complex --------------------------------------------------------------------------------------


@op("_conj_physical", mlx="mx.conjugate")
def conj_physical(x: Array) -> Array:
    return mx.conjugate(x) if is_complex(x) else x[...]


same("_conj_physical", "conj_physical")


@op("angle", mlx="mx.arctan2")
def angle(x: Array) -> Array:
    if is_complex(x):
        return mx.arctan2(mx.imag(x), mx.real(x))
    x = to_float(x)
    return mx.where(
        mx.isnan(x),
        x,
        mx.where(x < 0, mx.array(math.pi, dtype=x.dtype), mx.array(0, dtype=x.dtype)),
    )


@op("complex", mlx="mx.add")
def make_complex(re: Array, im: Array) -> Array:
    if re.dtype != mx.float32 or im.dtype != mx.float32:
        raise Decline("only float32 parts make a complex64")
    re, im = mx.broadcast_arrays(re, im)
    return mx.view(mx.contiguous(mx.stack([re, im], axis=-1)), mx.complex64)[..., 0]


@op("polar", mlx="mx.cos, mx.sin")
def polar(size: Array, angle: Array) -> Array:
    return make_complex(size * mx.cos(angle), size * mx.sin(angle))


@op("nan_to_num", mlx="mx.nan_to_num")
def nan_to_num(
    x: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    if is_int(x):
        return x[...]
    info = mx.finfo(real(x).dtype)
    nan = 0.0 if nan is None else nan
    high = info.max if posinf is None else posinf
    low = info.min if neginf is None else neginf
    y = mx.where(mx.isnan(x), scalar_like(nan, x.dtype), x)
    y = mx.where(mx.isposinf(x), scalar_like(high, x.dtype), y)
    return mx.where(mx.isneginf(x), scalar_like(low, x.dtype), y)


@op("heaviside", mlx="mx.where")
def heaviside(x: Array, values: Array) -> Array:
    if x.dtype != values.dtype or is_complex(x):
        raise Decline("heaviside wants one real dtype")
    one = mx.ones_like(x)
    r = mx.where(x == 0, values, mx.where(x > 0, one, mx.zeros_like(x)))
    return mx.where(mx.isnan(x), mx.zeros_like(x), r) if is_float(x) else r


@op("where.self", mlx="mx.where")
def where(condition: Array, a: Array, b: Array) -> Array:
    if condition.dtype not in (mx.bool_, mx.uint8):
        raise Decline("where expected condition to be a boolean tensor")
    x, y = promote(a, b)
    return mx.where(condition != 0 if condition.dtype == mx.uint8 else condition, x, y)
