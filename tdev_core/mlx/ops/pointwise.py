"""Element-wise arithmetic. Kernels take arrays and Python numbers and promote them by torch's rules."""

from __future__ import annotations

import math
from typing import Any

from tdev_core.mlx.bounds import refuse
from tdev_core.mlx.dtypes import (
    cast,
    category,
    default_float,
    is_complex,
    is_float,
    is_half,
    is_int,
    promote,
    result_type,
    scalar_like,
    to_float,
)  # fmt: skip
from tdev_core.mlx.lazy import mx
from tdev_core.mlx.registry import Decline, op, same

Array = Any


def _float_unary(name: str, mlx: str) -> None:
    @op(name, mlx=f"mx.{mlx}")
    def kernel(x: Array) -> Array:
        return getattr(mx, mlx)(to_float(x))


for _name, _mlx in {
    "exp": "exp", "log": "log", "log2": "log2", "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan",
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "sqrt": "sqrt", "sigmoid": "sigmoid",
}.items():  # fmt: skip
    _float_unary(_name, _mlx)


def real(x: Array) -> Array:
    """`x`, declined when it is complex: MLX has no complex form of the function at hand."""
    if is_complex(x):
        raise Decline("MLX has no complex form of this function")
    return x


@op("erf", mlx="mx.erf")
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


@op("rsqrt", mlx="mx.rsqrt")
def rsqrt(x: Array) -> Array:
    x = to_float(x)
    return 1 / mx.sqrt(x) if is_complex(x) else mx.rsqrt(x)


@op("reciprocal", mlx="mx.reciprocal")
def reciprocal(x: Array) -> Array:
    return mx.reciprocal(to_float(x))


@op("square", mlx="mx.square")
def square(x: Array) -> Array:
    return mx.square(x)


@op("neg", mlx="mx.negative")
def neg(x: Array) -> Array:
    if x.dtype == mx.bool_:
        raise Decline("Negation, the `-` operator, on a bool tensor is not supported")
    return mx.negative(x)


@op("abs", mlx="mx.abs")
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
    @op(name, mlx=f"mx.{name}", note="integers are returned as they are")
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
        x = clamp(x, eps, 1 - eps)
    return mx.log(x / (1 - x))


# --- two operands ---------------------------------------------------------------------------------


def exact(value: float, a: Array) -> bool:
    """Whether a number survives being stored in the 16-bit type of `a`."""
    return bool(value == value and mx.array(value, dtype=a.dtype).item() == value)


def pair(a: Array, b: Array) -> tuple[Array, Array, Any]:
    """Both operands in the type to compute in, and the type of the result.

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
    """Whether MLX's own arithmetic on the two is torch's: one dtype, or float32 and a Python number."""
    kind = type(b)
    if kind is float or kind is int:
        return bool(type(a) is mx.array and a.dtype == mx.float32)
    return bool(
        kind is mx.array and type(a) is mx.array and a.dtype == b.dtype and a.dtype != mx.bool_
    )


def back(result: Array, dtype: Any) -> Array:
    return result if result.dtype == dtype else result.astype(dtype)


@op("add.Tensor", "add.Scalar", mlx="mx.add", note="alpha by mx.multiply; logical or for bool")
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


@op("sub.Tensor", "sub.Scalar", mlx="mx.subtract")
def sub(a: Array, b: Array, alpha: Any = 1) -> Array:
    if alpha == 1 and direct(a, b):
        return mx.subtract(a, b)
    x, y, dtype = pair(a, b)
    if any(isinstance(v, mx.array) and v.dtype == mx.bool_ for v in (a, b)) or dtype == mx.bool_:
        raise Decline("Subtraction, the `-` operator, with a bool tensor is not supported.")
    return back(mx.subtract(x, y if alpha == 1 else _times(y, alpha)), dtype)


@op("rsub.Tensor", "rsub.Scalar", mlx="mx.subtract")
def rsub(a: Array, b: Array, alpha: Any = 1) -> Array:
    return sub(b, a, alpha=alpha)


@op("mul.Tensor", "mul.Scalar", mlx="mx.multiply")
def mul(a: Array, b: Array) -> Array:
    if direct(a, b):
        return mx.multiply(a, b)
    x, y, dtype = pair(a, b)
    return mx.logical_and(x, y) if dtype == mx.bool_ else back(mx.multiply(x, y), dtype)


@op("div.Tensor", "div.Scalar", "true_divide.Tensor", mlx="mx.divide")
def div(a: Array, b: Array) -> Array:
    if type(a) is mx.array and a.dtype == mx.float32 and direct(a, b):
        return mx.divide(a, b)
    x, y, dtype = pair(a, b)
    if category[dtype] < 2:
        dtype = default_float()
        x, y = x.astype(dtype), y.astype(dtype)
    return back(mx.divide(x, y), dtype)


@op("div.Tensor_mode", "div.Scalar_mode", mlx="mx.divide, mx.floor, mx.trunc")
def div_mode(a: Array, b: Array, *, rounding_mode: str | None = None) -> Array:
    if rounding_mode is None:
        return div(a, b)
    x, y, dtype = pair(a, b)
    if category[dtype] == 1:
        _refuse_zero(y)
        return _floor_div_int(x, y) if rounding_mode == "floor" else _trunc_div_int(x, y)
    if category[dtype] != 2 or rounding_mode not in ("floor", "trunc"):
        raise Decline("this rounding mode or dtype is answered by the CPU")
    x, y = x.astype(mx.float32), y.astype(mx.float32)
    return (_floor_div(x, y) if rounding_mode == "floor" else mx.trunc(x / y)).astype(dtype)


def _refuse_zero(y: Array) -> None:
    refuse(y == 0, RuntimeError("ZeroDivisionError"))


def _trunc_div_int(x: Array, y: Array) -> Array:
    if x.dtype in (mx.uint8, mx.uint16, mx.uint32, mx.uint64):
        return mx.floor_divide(x, y)
    q = mx.floor_divide(mx.abs(x), mx.abs(y))
    return mx.where((x < 0) == (y < 0), q, -q)


def _floor_div_int(x: Array, y: Array) -> Array:
    if x.dtype in (mx.uint8, mx.uint16, mx.uint32, mx.uint64):
        return mx.floor_divide(x, y)
    q = _trunc_div_int(x, y)
    return q - ((x - q * y != 0) & ((x < 0) != (y < 0))).astype(x.dtype)


def _floor_div(x: Array, y: Array) -> Array:
    # The quotient is taken from the exact remainder, so that 0.3 // 0.1 is 2 as in Python and torch.
    rest = _fmod(x, y)
    q = (x - rest) / y
    q = mx.where((rest != 0) & ((y < 0) != (rest < 0)), q - 1, q)
    down = mx.floor(q)
    down = mx.where(q - down > 0.5, down + 1, down)
    return mx.where(y == 0, x / y, mx.where(q == 0, mx.zeros_like(q), down))


def _fmod(x: Array, y: Array) -> Array:
    wide = mx.abs(x)
    m = mx.abs(y)
    r = mx.remainder(wide, m)
    r = mx.where(mx.isinf(m) & ~mx.isinf(wide), wide, r)
    return mx.where(x < 0, -r, r)


@op("floor_divide", "floor_divide.Scalar", mlx="mx.floor_divide")
def floor_divide(a: Array, b: Array) -> Array:
    return div_mode(a, b, rounding_mode="floor")


@op("remainder.Tensor", "remainder.Scalar", "remainder.Scalar_Tensor", mlx="mx.remainder")
def remainder(a: Array, b: Array) -> Array:
    x, y, dtype = pair(a, b)
    if category[dtype] == 1:
        _refuse_zero(y)
        return x - _floor_div_int(x, y) * y
    if category[dtype] != 2:
        raise Decline("remainder is for real numbers")
    x, y = x.astype(mx.float32), y.astype(mx.float32)
    r = _fmod(x, y)
    return mx.where((r != 0) & ((r < 0) != (y < 0)), r + y, r).astype(dtype)


@op("fmod.Tensor", "fmod.Scalar", mlx="mx.remainder")
def fmod(a: Array, b: Array) -> Array:
    x, y, dtype = pair(a, b)
    if category[dtype] == 1:
        _refuse_zero(y)
        return x - _trunc_div_int(x, y) * y
    if category[dtype] != 2:
        raise Decline("fmod is for real numbers")
    return _fmod(x.astype(mx.float32), y.astype(mx.float32)).astype(dtype)


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
        return _complex_power(x, y)
    return back(mx.power(x, y), dtype)


def _int_power(x: Array, y: Array) -> Array:
    # Negative exponents: 1, -1 or 0, as torch's CPU kernel answers element by element.
    p = mx.power(x, mx.where(y < 0, mx.zeros_like(y), y))
    odd = (y % 2) != 0
    inverse = mx.where(x == 1, 1, mx.where(x == -1, mx.where(odd, -1, 1), 0)).astype(x.dtype)
    return mx.where(y < 0, inverse, p)


def _complex_power(x: Array, y: Array) -> Array:
    zero = x == 0
    p = mx.exp(y * mx.log(mx.where(zero, mx.ones_like(x), x)))
    at_zero = mx.where(y == 0, mx.ones_like(p), mx.zeros_like(p))
    return mx.where(zero, at_zero, p)


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
    big, small = mx.maximum(x, y), mx.minimum(x, y)
    ratio = small / mx.where(big == 0, mx.ones_like(big), big)
    return mx.where(mx.isinf(big), big, big * mx.sqrt(1 + ratio * ratio)).astype(dtype)


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


# --- bits -----------------------------------------------------------------------------------------


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
