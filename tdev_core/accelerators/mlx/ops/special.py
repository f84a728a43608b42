"""Special functions, from series and recurrences over MLX's elementary ones; float32 inside."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tdev_core.accelerators.mlx.dtypes import is_complex, to_float
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.activation import wide
from tdev_core.accelerators.mlx.ops.arithmetic import pair
from tdev_core.accelerators.mlx.ops.pointwise import erfc
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def _unary(*names: str, mlx: str) -> Callable[[Callable[..., Array]], Callable[..., Array]]:
    def register(f: Callable[..., Array]) -> Callable[..., Array]:
        @op(*names, mlx=mlx)
        def kernel(x: Array) -> Array:
            if is_complex(x):
                raise Decline("not defined for complex numbers")
            x = to_float(x)
            return f(wide(x)).astype(x.dtype)

        return f

    return register


def _polynomial(t: Array, coefficients: list[float]) -> Array:
    total: Any = coefficients[0]
    for c in coefficients[1:]:
        total = total * t + c
    return total


# Abramowitz and Stegun, 9.8.1 to 9.8.4: modified Bessel functions, absolute error below 2e-7 of the scaled value.
_I0_SMALL = [0.0045813, 0.0360768, 0.2659732, 1.2067492, 3.0899424, 3.5156229, 1.0]
_I0_LARGE = [
    0.00392377, -0.01647633, 0.02635537, -0.02057706, 0.00916281, -0.00157565, 0.00225319, 0.01328592, 0.39894228,
]  # fmt: skip
_I1_SMALL = [0.00032411, 0.00301532, 0.02658733, 0.15084934, 0.51498869, 0.87890594, 0.5]
_I1_LARGE = [
    -0.00420059, 0.01787654, -0.02895312, 0.02282967, -0.01031555, 0.00163801, -0.00362018, -0.03988024, 0.39894228,
]  # fmt: skip


@_unary("special_i0e", mlx="mx.exp, mx.where")
def i0e(x: Array) -> Array:
    z = mx.abs(x)
    small = _polynomial(mx.square(mx.minimum(z, 3.75) / 3.75), _I0_SMALL) * mx.exp(-z)
    big = mx.maximum(z, 3.75)
    return mx.where(z < 3.75, small, _polynomial(3.75 / big, _I0_LARGE) / mx.sqrt(big))


@_unary("i0", mlx="mx.exp, mx.where")
def i0(x: Array) -> Array:
    return i0e(x) * mx.exp(mx.abs(x))


@_unary("special_i1e", mlx="mx.exp, mx.where")
def i1e(x: Array) -> Array:
    z = mx.abs(x)
    small = _polynomial(mx.square(mx.minimum(z, 3.75) / 3.75), _I1_SMALL) * z * mx.exp(-z)
    big = mx.maximum(z, 3.75)
    r = mx.where(z < 3.75, small, _polynomial(3.75 / big, _I1_LARGE) / mx.sqrt(big))
    return mx.where(x < 0, -r, r)


@_unary("special_i1", mlx="mx.exp, mx.where")
def i1(x: Array) -> Array:
    return i1e(x) * mx.exp(mx.abs(x))


@_unary("special_entr", mlx="mx.log, mx.where")
def entr(x: Array) -> Array:
    safe = mx.where(x > 0, x, mx.ones_like(x))
    return mx.where(
        mx.isnan(x),
        x,
        mx.where(x > 0, -safe * mx.log(safe), mx.where(x == 0, 0.0, mx.array(-math.inf))),
    )


@op(
    "special_xlog1py",
    "special_xlog1py.self_scalar",
    "special_xlog1py.other_scalar",
    mlx="mx.log1p, mx.where",
)
def xlog1py(a: Array, b: Array) -> Array:
    x, y, _ = pair(a, b)
    if is_complex(x):
        raise Decline("not defined for complex numbers")
    x, y = to_float(x), to_float(y)
    r = mx.where(x == 0, mx.zeros_like(y), x * mx.log1p(y))
    return mx.where(mx.isnan(y), y, r)


@_unary("digamma", mlx="mx.log, mx.where")
def digamma(x: Array) -> Array:
    # Reflection below zero, recurrence up to 8, then the asymptotic series.
    reflect = x < 0
    z = mx.where(reflect, 1 - x, x)
    total = mx.zeros_like(z)
    for _ in range(8):
        low = z < 8
        total = mx.where(low, total - 1 / z, total)
        z = mx.where(low, z + 1, z)
    s = 1 / (z * z)
    series = s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s * (1 / 132)))))
    r = total + mx.log(z) - 0.5 / z - series
    fraction = x - mx.floor(x)
    r = mx.where(reflect, r - math.pi / mx.tan(math.pi * fraction), r)
    r = mx.where(reflect & (fraction == 0), mx.array(math.nan), r)
    return mx.where(x == 0, mx.where(1 / x > 0, mx.array(-math.inf), mx.array(math.inf)), r)


@_unary("lgamma", mlx="mx.log, mx.where")
def lgamma(x: Array) -> Array:
    reflect = x < 0.5
    z = mx.where(reflect, 1 - x, x)
    shifts = mx.ones_like(z)
    for _ in range(6):  # recurrence up to 6, then Stirling's series: no cancellation near 1 and 2
        low = z < 6
        shifts = mx.where(low, shifts * z, shifts)
        z = mx.where(low, z + 1, z)
    s = 1 / (z * z)
    series = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s / 1680))) / z
    r = (z - 0.5) * mx.log(z) - z + 0.5 * math.log(2 * math.pi) + series - mx.log(shifts)
    fraction = mx.abs(x - mx.floor(x))
    mirrored = math.log(math.pi) - mx.log(mx.abs(mx.sin(math.pi * fraction))) - r
    r = mx.where(reflect, mirrored, r)
    r = mx.where((x <= 0) & (fraction == 0), mx.array(math.inf), r)
    return mx.where(mx.isinf(x), mx.array(math.inf), r)


@_unary("special_log_ndtr", mlx="mx.erf, mx.log, mx.exp")
def log_ndtr(x: Array) -> Array:
    # log of the normal distribution function; far below zero by the asymptotic series of the tail
    near = mx.log(0.5 * erfc(mx.maximum(x, -5.0) * -math.sqrt(0.5)))
    z = mx.minimum(x, -5.0)
    s = 1 / (z * z)
    tail = -0.5 * z * z - mx.log(-z) - 0.5 * math.log(2 * math.pi)
    tail = tail + mx.log1p(s * (-1 + s * (3 + s * (-15 + s * (105 - s * 945)))))
    return mx.where(x < -5, tail, near)
