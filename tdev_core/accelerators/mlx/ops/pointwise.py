"""Element-wise arithmetic. Kernels take arrays and Python numbers and promote them by torch's rules."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.accelerators.mlx.dtypes import (  # fmt: skip
    is_complex,
    is_float,
    is_half,
    is_int,
    to_float,
)
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def _float_unary(name: str, mlx: str) -> None:
    @op(name, mlx=f"mx.{mlx}", float32=mlx)
    def kernel(x: Array) -> Array:
        return getattr(mx, mlx)(to_float(x))


for _name, _mlx in {
    "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "sqrt": "sqrt", "sigmoid": "sigmoid",
}.items():  # fmt: skip
    _float_unary(_name, _mlx)


def real(x: Array) -> Array:
    """Give `x` back; declines when it is complex: MLX has no complex form of the function at hand."""
    if is_complex(x):
        raise Decline("MLX has no complex form of this function")
    return x


@op("erf", mlx="mx.erf", float32="erf")
def erf(x: Array) -> Array:
    return mx.erf(to_float(real(x)))


@op("erfinv", mlx="mx.erfinv")
def erfinv(x: Array) -> Array:
    return mx.erfinv(to_float(real(x)))


@op(
    "erfc",
    mlx="1 - mx.erf",
    note="for x > 0.5 by a continued rational form, where the difference would cancel",
)
def erfc(x: Array) -> Array:
    x = to_float(real(x))
    if is_half(x):
        return erfc(x.astype(mx.float32)).astype(x.dtype)
    z = mx.abs(x)
    t = 1.0 / (1.0 + 0.5 * z)
    # Chebyshev fit of erfc with relative error below 1.2e-7 (Numerical Recipes, section 6.2).
    p = -z * z - 1.26551223 + t * (1.00002368 + t * (0.37409196 + t * (0.09678418 + t * (-0.18628806 + t * (
        0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277))))))))  # fmt: skip
    tail = t * mx.exp(p)
    far = mx.where(x >= 0, tail, 2.0 - tail)
    return mx.where(z < 0.5, 1.0 - mx.erf(x), mx.where(mx.isnan(x), x, far))


@op("expm1", mlx="mx.expm1")
def expm1(x: Array) -> Array:
    x = to_float(x)
    return mx.exp(x) - 1 if is_complex(x) else mx.expm1(x)


@op("exp2", mlx="mx.power(2, x)")
def exp2(x: Array) -> Array:
    x = to_float(x)
    return mx.exp(x * math.log(2)) if is_complex(x) else mx.power(mx.array(2, dtype=x.dtype), x)


@op("rsqrt", mlx="mx.rsqrt", float32="rsqrt")
def rsqrt(x: Array) -> Array:
    x = to_float(x)
    return 1 / mx.sqrt(x) if is_complex(x) else mx.rsqrt(x)


@op("reciprocal", mlx="mx.reciprocal", float32="reciprocal")
def reciprocal(x: Array) -> Array:
    return mx.reciprocal(to_float(x))


@op("square", mlx="mx.square", float32="square")
def square(x: Array) -> Array:
    return mx.square(x)


@op("neg", mlx="mx.negative", float32="negative")
def neg(x: Array) -> Array:
    if x.dtype == mx.bool_:
        raise Decline("Negation, the `-` operator, on a bool tensor is not supported")
    return mx.negative(x)


@op("abs", mlx="mx.abs", float32="abs")
def absolute(x: Array) -> Array:
    return mx.abs(x)


@op("sign", mlx="mx.sign")
def sign(x: Array) -> Array:
    x = real(x)
    if x.dtype == mx.bool_:
        return x
    s = mx.sign(x)
    return mx.where(mx.isnan(x), mx.zeros_like(x), s) if is_float(x) else s


@op("sgn", mlx="mx.sign")
def sgn(x: Array) -> Array:
    if not is_complex(x):
        return sign(x)
    size = mx.abs(x)
    return mx.where(size == 0, mx.zeros_like(x), x / mx.where(size == 0, 1.0, size))


def _rounder(name: str) -> None:
    @op(name, mlx=f"mx.{name}", note="integers are returned as they are", float32=name)
    def kernel(x: Array) -> Array:
        return _integral(x) if is_int(x) else getattr(mx, name)(real(x))


def _integral(x: Array) -> Array:
    if x.dtype == mx.bool_:
        raise Decline("rounding is not defined for bool")
    return x[...]


_rounder("ceil")
_rounder("floor")
_rounder("round")


@op("round.decimals", mlx="mx.round")
def round_decimals(x: Array, *, decimals: int) -> Array:
    if is_int(x):
        return _integral(x)
    if is_half(x):
        return round_decimals(x.astype(mx.float32), decimals=decimals).astype(x.dtype)
    return mx.round(real(x) * 10.0**decimals) / 10.0**decimals if decimals >= 0 else (
        mx.round(real(x) / 10.0**-decimals) * 10.0**-decimals
    )  # fmt: skip


@op("trunc", mlx="mx.trunc")
def trunc(x: Array) -> Array:
    return _integral(x) if is_int(x) else mx.trunc(real(x))


@op("frac", mlx="mx.trunc, mx.subtract")
def frac(x: Array) -> Array:
    if not is_float(x):
        raise Decline("frac is for floats")
    return x - mx.trunc(x)


@op("deg2rad", mlx="mx.radians")
def deg2rad(x: Array) -> Array:
    return to_float(real(x)) * (math.pi / 180)


@op("rad2deg", mlx="mx.degrees")
def rad2deg(x: Array) -> Array:
    return to_float(real(x)) * (180 / math.pi)


@op("sinc", mlx="mx.sin, mx.where")
def sinc(x: Array) -> Array:
    x = to_float(x)
    y = x * math.pi
    zero = x == 0
    return mx.where(zero, mx.ones_like(x), mx.sin(y) / mx.where(zero, mx.ones_like(y), y))


@op("logit", mlx="mx.log, mx.clip")
def logit(x: Array, eps: float | None = None) -> Array:
    x = to_float(real(x))
    if eps is not None:
        x = mx.minimum(mx.maximum(x, eps), 1 - eps)
    return mx.log(x / (1 - x))
