"""Comparisons, predicates and logic: results are bool."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx import runtime
from tdev_core.accelerators.mlx.dtypes import cast, category, is_complex, is_int, promote
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.registry import Decline, op

Array = Any


def _comparison(name: str, mlx: str, ordered: bool) -> None:
    @op(f"{name}.Tensor", f"{name}.Scalar", mlx=f"mx.{mlx}")
    def kernel(a: Array, b: Array) -> Array:
        if isinstance(a, mx.array) and isinstance(b, mx.array) and a.dtype == b.dtype:
            x, y = a, b
        elif isinstance(b, int) and not isinstance(b, bool) and category[a.dtype] == 1:
            if not _fits(b, a.dtype):
                raise Decline("the number does not fit the tensor's integers")
            x, y = a, mx.array(b, dtype=a.dtype)
        else:
            x, y = promote(a, b)
        if ordered and is_complex(x):
            raise Decline("complex numbers have no order")
        return getattr(mx, mlx)(x, y)


def _fits(value: int, dtype: Any) -> bool:
    info = mx.iinfo(dtype)
    return max(int(info.min), -(2**31)) <= value <= min(int(info.max), 2**31 - 1)


_comparison("eq", "equal", False)
_comparison("ne", "not_equal", False)
_comparison("lt", "less", True)
_comparison("le", "less_equal", True)
_comparison("gt", "greater", True)
_comparison("ge", "greater_equal", True)


def _logical(name: str) -> None:
    @op(name, mlx=f"mx.{name}")
    def kernel(a: Array, b: Array) -> Array:
        x, y = cast(a, mx.bool_), cast(b, mx.bool_)
        return mx.not_equal(x, y) if name == "logical_xor" else getattr(mx, name)(x, y)


_logical("logical_and")
_logical("logical_or")
_logical("logical_xor")


@op("logical_not", mlx="mx.logical_not")
def logical_not(x: Array) -> Array:
    return mx.logical_not(cast(x, mx.bool_))


def _constant(x: Array, value: bool) -> Array:
    return mx.full(x.shape, value, dtype=mx.bool_)


@op("isnan", mlx="mx.isnan")
def isnan(x: Array) -> Array:
    return _constant(x, False) if is_int(x) else mx.not_equal(x, x)


@op("isinf", mlx="mx.isinf")
def isinf(x: Array) -> Array:
    if is_complex(x):
        return mx.isinf(mx.real(x)) | mx.isinf(mx.imag(x))
    return _constant(x, False) if is_int(x) else mx.isinf(x)


@op("isfinite", mlx="mx.isfinite")
def isfinite(x: Array) -> Array:
    if is_complex(x):
        return mx.isfinite(mx.real(x)) & mx.isfinite(mx.imag(x))
    return _constant(x, True) if is_int(x) else mx.isfinite(x)


@op("isposinf", mlx="mx.isposinf")
def isposinf(x: Array) -> Array:
    if is_complex(x):
        raise Decline("isposinf is for real numbers")
    return _constant(x, False) if is_int(x) else mx.isposinf(x)


@op("isneginf", mlx="mx.isneginf")
def isneginf(x: Array) -> Array:
    if is_complex(x):
        raise Decline("isneginf is for real numbers")
    return _constant(x, False) if is_int(x) else mx.isneginf(x)


@op("signbit", mlx="mx.view, mx.less")
def signbit(x: Array) -> Array:
    if is_complex(x):
        raise Decline("signbit is for real numbers")
    if x.dtype == mx.bool_:
        return _constant(x, False)
    return x < 0 if is_int(x) else mx.view(x.astype(mx.float32), mx.int32) < 0


@op(
    "equal",
    mlx="mx.array_equal",
    note="waits for the device, since it gives a Python bool",
    compiled=False,
)
def equal(a: Array, b: Array) -> bool:
    if a.dtype != b.dtype:
        raise Decline("equal on different dtypes")
    return bool(a.shape == b.shape and runtime.item(mx.all(a == b)))
