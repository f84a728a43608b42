"""Has the interpreter compute with bfloat16.

It keeps bfloat16 as unsigned 16-bit integers, and computes with those: 1.0 + 1.0 was 1.7e38. Here operands become float32,
and the result is rounded to the nearest bfloat16, ties to even, which is what torch does on the CPU and what GPUs do.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

__all__ = ["mend", "narrow", "widen"]

_COMPUTED = (
    "binary_op",
    "unary_op",
    "create_idiv",
    "create_erf",
    "create_rsqrt",
    "create_fma",
    "create_clampf",
)


def widen(bits: Any) -> Any:
    """Return the float32 array of the same numbers as ``bits``, an array of uint16."""
    import numpy as np

    return (bits.astype(np.uint32) << 16).view(np.float32)


def narrow(numbers: Any) -> Any:
    """Return the uint16 array of the bfloat16 next to ``numbers``, ties to even; a NaN stays one."""
    import numpy as np

    numbers = np.asarray(numbers, dtype=np.float32)
    bits = np.atleast_1d(numbers).view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    rounded[np.isnan(np.atleast_1d(numbers))] = 0x7FC0
    return rounded.reshape(numbers.shape)


def mend(interpreter: ModuleType) -> None:
    """Mend ``triton.runtime.interpreter``, whose classes are Triton's own."""
    builder = interpreter.InterpreterBuilder
    for name in _COMPUTED:
        setattr(builder, name, _computing(getattr(builder, name), interpreter))
    if not hasattr(builder, "get_bf16"):  # before Triton 3.8
        builder.get_bf16 = _constant(interpreter)
    builder.ternary_op = _ternary(builder.ternary_op, interpreter)
    builder.create_dot = _dot(builder.create_dot, interpreter)
    builder.cast_impl = _cast(builder.cast_impl, interpreter)
    builder.create_fp_to_fp = _converting(builder.create_fp_to_fp, interpreter)
    builder.create_print = _printing(builder.create_print, interpreter)
    builder.create_atomic_rmw = _atomic(builder.create_atomic_rmw, interpreter)
    for name in ("create_tensor_pointer_load", "create_descriptor_load"):
        if hasattr(builder, name):  # Triton 3.9 has no block pointers of the builder's own
            setattr(builder, name, _padding(getattr(builder, name), interpreter))
    scaled = vars(interpreter).get("_mxfp_value_handle_to_float32")
    if scaled is not None:  # tl.dot_scaled by way of float16, which is too narrow for bfloat16
        vars(interpreter)["_mxfp_value_handle_to_float32"] = lambda handle: (
            widen(handle.data) if _is_narrow(handle, interpreter) else scaled(handle)
        )
    shared = interpreter.ReduceScanOpInterface
    shared.to_tensor = _packing(shared.to_tensor, interpreter)
    for owner, names in (
        (interpreter.ReduceOps, ("sum", "min_max")),
        (interpreter.ScanOps, ("cumsum", "cumprod")),
    ):
        for name in names:
            setattr(owner, name, _reducing(getattr(owner, name), interpreter))


def _constant(interpreter: ModuleType) -> Any:
    """Return what the builder makes of a number that a kernel hands to bfloat16."""

    def get_bf16(self: Any, value: float) -> Any:
        return interpreter.TensorHandle(narrow([value]), interpreter.tl.bfloat16)

    return get_bf16


def _is_narrow(handle: Any, interpreter: ModuleType) -> bool:
    """Tell whether a handle holds bfloat16: what compares two has their dtype, too, and holds truth values."""
    handle_class = interpreter.TensorHandle
    return (
        isinstance(handle, handle_class)
        and handle.dtype.scalar == interpreter.tl.bfloat16
        and handle.data.dtype == "uint16"
    )


def _wide(handle: Any, interpreter: ModuleType) -> Any:
    if not _is_narrow(handle, interpreter):
        return handle
    return interpreter.TensorHandle(widen(handle.data), interpreter.tl.float32)


def _narrow(handle: Any, interpreter: ModuleType) -> Any:
    """Return what was computed in float32 as bfloat16, and truth values as they are."""
    if handle.data.dtype == "bool":
        return interpreter.TensorHandle(handle.data, interpreter.tl.int1)
    return interpreter.TensorHandle(narrow(handle.data), interpreter.tl.bfloat16)


def _computing(function: Any, interpreter: ModuleType) -> Any:
    @functools.wraps(function)
    def computing(self: Any, *args: Any) -> Any:
        if not any(_is_narrow(arg, interpreter) for arg in args):
            return function(self, *args)
        return _narrow(function(self, *(_wide(arg, interpreter) for arg in args)), interpreter)

    return computing


def _ternary(function: Any, interpreter: ModuleType) -> Any:
    @functools.wraps(function)
    def ternary_op(self: Any, lhs: Any, rhs: Any, other: Any, op: Any) -> Any:
        args = (lhs, rhs, other)
        # Choosing among numbers takes their bits.
        if op is interpreter.np.where or not any(_is_narrow(arg, interpreter) for arg in args):
            return function(self, lhs, rhs, other, op)
        return _narrow(function(self, *(_wide(x, interpreter) for x in args), op), interpreter)

    return ternary_op


def _dot(function: Any, interpreter: ModuleType) -> Any:
    @functools.wraps(function)
    def create_dot(self: Any, a: Any, b: Any, d: Any, *options: Any) -> Any:
        found = function(self, *(_wide(x, interpreter) for x in (a, b, d)), *options)
        return _narrow(found, interpreter) if _is_narrow(d, interpreter) else found

    return create_dot


def _cast(function: Any, interpreter: ModuleType) -> Any:
    tl = interpreter.tl

    @functools.wraps(function)
    def cast_impl(self: Any, src: Any, dst_type: Any) -> Any:
        source = _wide(src, interpreter)
        if dst_type.scalar != tl.bfloat16:
            return (
                source
                if source is not src and dst_type.scalar == tl.float32
                else function(self, source, dst_type)
            )
        if source is not src:
            return src
        return _narrow(
            interpreter.TensorHandle(source.data.astype("float32"), tl.float32), interpreter
        )

    return cast_impl


def _converting(function: Any, interpreter: ModuleType) -> Any:
    tl = interpreter.tl

    @functools.wraps(function)
    def create_fp_to_fp(self: Any, src: Any, dst_type: Any, rounding_mode: Any) -> Any:
        source = _wide(src, interpreter)
        if dst_type.scalar != tl.bfloat16:
            if source is not src and dst_type.scalar == tl.float32:
                return source
            return function(self, source, dst_type, rounding_mode)
        if source is not src:
            return src
        if source.dtype.scalar not in (tl.float32, tl.float64, tl.float16):
            source = function(self, source, tl.float32, None)
        numbers = source.data.astype("float32")
        if rounding_mode == interpreter._ir.ROUNDING_MODE.RTZ:
            bits = (numbers.view("uint32") >> 16).astype("uint16")
            return interpreter.TensorHandle(bits, tl.bfloat16)
        return _narrow(interpreter.TensorHandle(numbers, tl.float32), interpreter)

    return create_fp_to_fp


def _printing(function: Any, interpreter: ModuleType) -> Any:
    """Print numbers, not their bits."""

    @functools.wraps(function)
    def create_print(self: Any, prefix: Any, hex: Any, values: Any, *options: Any) -> Any:
        return function(self, prefix, hex, [_wide(x, interpreter) for x in values], *options)

    return create_print


def _atomic(function: Any, interpreter: ModuleType) -> Any:
    """Add bfloat16 one after the other: two of a block may have the same address."""
    np = interpreter.np

    @functools.wraps(function)
    def create_atomic_rmw(
        self: Any, operation: Any, ptr: Any, val: Any, mask: Any, sem: Any, scope: Any
    ) -> Any:
        adds = operation == interpreter._ir.ATOMIC_OP.FADD
        if not adds or not _is_narrow(val, interpreter):
            return function(self, operation, ptr, val, mask, sem, scope)
        before = np.zeros_like(val.data)
        one = np.ones(1, dtype=bool)
        kept = np.broadcast_to(mask.data, ptr.data.shape)
        for place in np.ndindex(ptr.data.shape):
            if not kept[place]:
                continue
            address = np.array([ptr.data[place]])
            old = interpreter._interpreter.load(
                address, one, np.zeros(1, "uint16"), np.dtype("uint16")
            )
            before[place] = old[0]
            new = narrow(widen(old) + widen(np.array([val.data[place]])))
            interpreter._interpreter.store(address, new, one)
        return interpreter.TensorHandle(before, val.dtype.scalar)

    return create_atomic_rmw


def _padding(function: Any, interpreter: ModuleType) -> Any:
    """Pad with NaN, which was 0: no integer is it."""

    @functools.wraps(function)
    def load(self: Any, block: Any, places: Any, *options: Any) -> Any:
        found = function(self, block, places, *options)
        padding = block.padding if hasattr(block, "padding") else options[0]
        if padding == interpreter._ir.PADDING_OPTION.PAD_NAN and _is_narrow(found, interpreter):
            _, mask = block.materialize_pointers(places)
            kept = mask.data if isinstance(mask, interpreter.TensorHandle) else mask
            found.data[~kept] = narrow(float("nan"))
        return found

    return load


def _packing(function: Any, interpreter: ModuleType) -> Any:
    np = interpreter.np

    @functools.wraps(function)
    def to_tensor(self: Any, ret: Any, dtype: Any) -> Any:
        if dtype.scalar == interpreter.tl.bfloat16 and np.asarray(ret).dtype.kind == "f":
            ret = narrow(ret)
        return function(self, ret, dtype)

    return to_tensor


def _reducing(function: Any, interpreter: ModuleType) -> Any:
    @functools.wraps(function)
    def reducing(self: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        first = input[0] if isinstance(input, tuple) else input
        if not _is_narrow(first.handle, interpreter):
            return function(self, input, *args, **kwargs)
        wide = interpreter.tl.core.tensor(_wide(first.handle, interpreter), first.type)
        return function(
            self, (wide, *input[1:]) if isinstance(input, tuple) else wide, *args, **kwargs
        )

    return reducing
