"""Division that rounds, and what it leaves: ``//``, ``%``, `fmod`, by Python's rules for signs and torch's for zero."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.bounds import refuse
from tdev_core.accelerators.mlx.dtypes import category
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.ops.arithmetic import div, pair
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


@op("div.Tensor_mode", "div.Scalar_mode", mlx="mx.divide, mx.floor, mx.trunc")
def div_mode(a: Array, b: Array, *, rounding_mode: str | None = None) -> Array:
    if rounding_mode is None:
        return div(a, b)
    x, y, dtype = pair(a, b)
    if category[dtype] == 1:
        _refuse_zero(y)
        return mx.floor_divide(x, y) if rounding_mode == "floor" else _trunc_div_int(x, y)
    if category[dtype] != 2 or rounding_mode not in ("floor", "trunc"):
        raise Decline("this rounding mode or dtype is answered by the CPU")
    x, y = x.astype(mx.float32), y.astype(mx.float32)
    return (_floor_div(x, y) if rounding_mode == "floor" else mx.trunc(x / y)).astype(dtype)


def _refuse_zero(y: Array) -> None:
    refuse(y == 0, RuntimeError("ZeroDivisionError"))


def _trunc_div_int(x: Array, y: Array) -> Array:
    # MLX's integer division rounds down, like Python's, also where abs() would overflow.
    q = mx.floor_divide(x, y)
    if x.dtype in (mx.uint8, mx.uint16, mx.uint32, mx.uint64):
        return q
    return q + ((mx.remainder(x, y) != 0) & ((x < 0) != (y < 0))).astype(x.dtype)


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
        return mx.remainder(x, y)
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
