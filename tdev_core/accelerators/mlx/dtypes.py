"""Element types: torch's and MLX's, and torch's promotion rules over MLX arrays.

Upstream: "Tensor Attributes, type promotion" of the torch documentation: tensors with dimensions outrank
zero-dimensional ones, which outrank Python numbers, within one category (bool < integer < float < complex).
float64, complex128 and the float8 kinds have no MLX form here: their tensors stay in host memory.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.mlx.registry import Decline

__all__ = [
    "cast", "category", "compute", "default_float", "is_complex", "is_float", "is_half", "is_int", "mx_dtype",
    "promote", "result_type", "scalar_like", "to_float", "to_mx", "to_torch", "upcast",
]  # fmt: skip

_NAMES = {
    "bool": "bool_", "uint8": "uint8", "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64",
    "uint16": "uint16", "uint32": "uint32", "uint64": "uint64",
    "float16": "float16", "bfloat16": "bfloat16", "float32": "float32", "complex64": "complex64",
}  # fmt: skip

to_mx: dict[Any, Any] = {}
"""torch dtype -> MLX dtype, for those that live on the device."""
to_torch: dict[Any, Any] = {}
"""MLX dtype -> torch dtype."""
category: dict[Any, int] = {}
"""MLX dtype -> 0 bool, 1 integer, 2 float, 3 complex."""


def load() -> None:
    """Fill the maps; called once by ``runtime.start``."""
    for ours, theirs in _NAMES.items():
        dtype, mlx = getattr(torch, ours), getattr(mx, theirs)
        to_mx[dtype] = mlx
        to_torch[mlx] = dtype
        category[mlx] = (
            0
            if dtype is torch.bool
            else 3
            if dtype.is_complex
            else 2
            if dtype.is_floating_point
            else 1
        )


def mx_dtype(dtype: Any) -> Any:
    """Give MLX's name for a torch dtype; declines (the call runs on the CPU) for one that stays on the host."""
    try:
        return to_mx[dtype]
    except KeyError:
        raise Decline(f"{dtype} has no MLX form") from None


def is_float(a: Any) -> bool:
    return category[a.dtype] == 2


def is_complex(a: Any) -> bool:
    return category[a.dtype] == 3


def is_int(a: Any) -> bool:
    """Tell whether `a` holds integers or bools."""
    return category[a.dtype] < 2


def is_half(a: Any) -> bool:
    return a.dtype in (mx.float16, mx.bfloat16)


def default_float() -> Any:
    return mx_dtype(torch.get_default_dtype())


@cache
def _promote(a: Any, b: Any) -> Any:
    return mx_dtype(torch.promote_types(to_torch[a], to_torch[b]))


def _number(x: Any) -> Any:
    if isinstance(x, bool):
        return mx.bool_
    if isinstance(x, int):
        return mx.int64
    return mx.complex64 if isinstance(x, complex) else default_float()


def result_type(*xs: Any) -> Any:
    """Compute the MLX dtype of torch's ``result_type`` over arrays and Python numbers."""
    dims = zero = wrapped = None
    for x in xs:
        if isinstance(x, mx.array):
            if x.ndim:
                dims = x.dtype if dims is None else _promote(dims, x.dtype)
            else:
                zero = x.dtype if zero is None else _promote(zero, x.dtype)
        elif x is not None:
            kind = _number(x)
            wrapped = kind if wrapped is None else _promote(wrapped, kind)
    return _combine(_combine(dims, zero), wrapped)


@cache
def _combine(higher: Any, lower: Any) -> Any:
    if higher is None:
        return lower
    if lower is None:
        return higher
    if category[higher] >= category[lower]:
        return higher
    if category[higher] == 2:  # a complex number meets a float tensor: the complex of that width
        if higher == mx.float16:
            raise Decline("complex32 has no MLX form")
        if higher == mx.bfloat16 and torch.bfloat16.to_complex() != torch.complex64:
            raise Decline("bcomplex32, which torch has from 2.14 on, has no MLX form")
        return mx.complex64
    return _promote(higher, lower)


def cast(a: Any, dtype: Any) -> Any:
    """Cast `a` to `dtype`, by torch's rules where MLX's differ (float to bool is "is not zero")."""
    if a.dtype == dtype:
        return a
    if dtype == mx.bool_:
        return a != 0
    if category[a.dtype] == 3 and category[dtype] < 3:
        a = mx.real(a)
    if category[a.dtype] == 2 and category[dtype] == 1 and dtype in _UNSIGNED():
        a = a.astype(mx.int64)  # wraps like torch's cast instead of saturating
    return a.astype(dtype)


@cache
def _UNSIGNED() -> tuple[Any, ...]:
    return (mx.uint8, mx.uint16, mx.uint32)


def scalar_like(value: Any, dtype: Any) -> Any:
    """Make a Python number a zero-dimensional array of `dtype`, wrapped like torch wraps it."""
    if category[dtype] == 1 and isinstance(value, int) and not isinstance(value, bool):
        bits = dtype.size * 8
        value &= (1 << bits) - 1
        if dtype in (mx.int8, mx.int16, mx.int32, mx.int64) and value >> (bits - 1):
            value -= 1 << bits
        if dtype == mx.int64 and not -(1 << 31) <= value < 1 << 31:
            return mx.array(memoryview(value.to_bytes(8, "little", signed=True))).view(mx.int64)[0]
    if category[dtype] == 1 and isinstance(value, float):
        value = int(value)
    if category[dtype] == 0:
        value = bool(value)
    if category[dtype] == 2 and isinstance(value, complex):
        raise Decline("a complex number where a real one belongs")
    return mx.array(value, dtype=dtype)


def promote(*xs: Any) -> tuple[Any, ...]:
    """Bring arrays and numbers to their common dtype; numbers become zero-dimensional arrays."""
    dtype = result_type(*xs)
    return tuple(cast(x, dtype) if isinstance(x, mx.array) else scalar_like(x, dtype) for x in xs)


def to_float(a: Any) -> Any:
    """Give integers and bools as the default float; floats and complex unchanged."""
    return a if category[a.dtype] >= 2 else a.astype(default_float())


def upcast(a: Any) -> Any:
    """Give 16-bit floats as float32, where torch computes in the wider type."""
    return a.astype(mx.float32) if a.dtype in (mx.float16, mx.bfloat16) else a


def compute(a: Any, dtype: Any | None) -> Any:
    """Give `a` in the torch `dtype` a ``dtype=`` argument asked for, or unchanged."""
    return a if dtype is None else cast(a, mx_dtype(dtype))
