"""Has the interpreter convert among floats as a GPU does, and refuse to compute with those of 8 bits, as a GPU does.

It keeps them as bytes, and computed with those: -3.5 + -4.0 was -0.03. Its conversions rounded ties away from zero, lost the
carry of a full mantissa (-7.8 became -4.0) and made numbers of NaN; those to float16, by which bfloat16 goes since Triton 3.9, did the
same. Here NumPy and torch convert, rounding to the nearest, ties to even; what is too large for 8 bits becomes the largest number,
as ``cvt.rn.satfinite`` has it.

Source: Triton's issues 2475 and 2640 (no arithmetic), and the conversions in third_party/nvidia/lib of its repository.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from tdev_core.packages.interpreter.bfloat16 import narrow, widen

__all__ = ["mend"]

_COMPUTING = (
    "binary_op", "unary_op", "create_idiv", "create_erf", "create_rsqrt", "create_fma", "create_clampf",
)  # fmt: skip


def mend(interpreter: ModuleType) -> None:
    """Mend ``triton.runtime.interpreter``, whose classes are Triton's own."""
    builder = interpreter.InterpreterBuilder
    vars(interpreter)["_convert_float"] = _converting(
        vars(interpreter)["_convert_float"], interpreter
    )
    builder.cast_impl = _casting(builder.cast_impl, interpreter)
    for name in _COMPUTING:
        setattr(builder, name, _refusing(getattr(builder, name), interpreter))
    builder.ternary_op = _refusing(builder.ternary_op, interpreter, chooses=True)
    for owner, names in (
        (interpreter.ReduceOps, ("sum", "min_max")),
        (interpreter.ScanOps, ("cumsum", "cumprod")),
    ):
        for name in names:
            setattr(owner, name, _reducing(getattr(owner, name)))


def _kinds(interpreter: ModuleType) -> dict[Any, Any]:
    """Return torch's dtype of each of Triton's; fp8e4b15, which torch does not have, stays the interpreter's."""
    import torch

    tl = interpreter.tl
    return {
        tl.float8e4nv: torch.float8_e4m3fn,
        tl.float8e4b8: torch.float8_e4m3fnuz,
        tl.float8e5: torch.float8_e5m2,
        tl.float8e5b16: torch.float8_e5m2fnuz,
    }


def _converting(function: Any, interpreter: ModuleType) -> Any:
    """Convert arrays: 8-bit floats are bytes, others may be their bits; what comes out are bits."""

    @functools.wraps(function)
    def _convert_float(data: Any, source: Any, target: Any, rounding: Any) -> Any:
        import torch

        kinds = _kinds(interpreter)
        if any(kind.is_fp8() and kind not in kinds for kind in (source, target)):
            return function(data, source, target, rounding)
        wide = _numbers(data, source, kinds)
        toward_zero = rounding == interpreter._ir.ROUNDING_MODE.RTZ
        if target not in kinds:
            return _bits(wide, target, toward_zero)
        kind = kinds[target]
        largest = torch.finfo(kind).max
        kept = torch.from_numpy(wide).clamp(-largest, largest)
        found = _to_odd(kept).to(kind)
        bits = found.view(torch.uint8)
        if toward_zero:
            bits = bits - (found.double().abs() > kept.abs()).to(torch.uint8)
        return bits.numpy()

    return _convert_float


def _numbers(data: Any, source: Any, kinds: dict[Any, Any]) -> Any:
    """Return what an array of floats, or of their bits, means, in float64."""
    import numpy as np
    import torch

    if source in kinds:
        return torch.from_numpy(np.ascontiguousarray(data)).view(kinds[source]).double().numpy()
    if source.is_bf16():
        return widen(np.ascontiguousarray(data).view(np.uint16)).astype(np.float64)
    return np.ascontiguousarray(data).view(f"float{source.primitive_bitwidth}").astype(np.float64)


def _bits(wide: Any, target: Any, toward_zero: bool) -> Any:
    """Return float64 as the bits of a float of 16 bits and more."""
    import numpy as np

    width = target.primitive_bitwidth
    with np.errstate(over="ignore"):
        if target.is_bf16():
            bits = narrow(wide)
            found = widen(bits)
        else:
            found = wide.astype(f"float{width}")
            bits = found.view(f"uint{width}")
    if toward_zero:  # a sign stands before a size, of which one less is nearer to zero
        bits = bits - (np.abs(found.astype(np.float64)) > np.abs(wide)).astype(
            bits.dtype
        ) * np.isfinite(wide)
    return bits.astype(f"uint{width}")


def _to_odd(numbers: Any) -> Any:
    """Return float64 as float32 with the last bit set where something was lost, so that the next rounding sees no false tie."""
    import torch

    near = numbers.float()
    over = near.double().abs() > numbers.abs()
    bits = near.view(torch.int32) - over.int()
    lost = (bits.view(torch.float32).double() != numbers) & ~numbers.isnan()
    return (bits | lost.int()).view(torch.float32)


def _casting(function: Any, interpreter: ModuleType) -> Any:
    """Convert constants, too, which are cast and not converted."""

    @functools.wraps(function)
    def cast_impl(self: Any, src: Any, dst_type: Any) -> Any:
        source, target = src.dtype.scalar, dst_type.scalar
        kinds = _kinds(interpreter)
        if source in kinds or target in kinds:
            return self.create_fp_to_fp(src, dst_type, None)
        return function(self, src, dst_type)

    return cast_impl


def _refusing(function: Any, interpreter: ModuleType, chooses: bool = False) -> Any:
    @functools.wraps(function)
    def computing(self: Any, *args: Any) -> Any:
        if not (chooses and args[-1] is interpreter.np.where):
            for arg in args:
                if isinstance(arg, interpreter.TensorHandle):
                    _refuse(arg.dtype.scalar)
        return function(self, *args)

    return computing


def _reducing(function: Any) -> Any:
    @functools.wraps(function)
    def reducing(self: Any, input: Any, *args: Any, **kwargs: Any) -> Any:
        _refuse((input[0] if isinstance(input, tuple) else input).dtype.scalar)
        return function(self, input, *args, **kwargs)

    return reducing


def _refuse(dtype: Any) -> None:
    if dtype.is_fp8():
        raise TypeError(
            f"{dtype} is stored and multiplied by tl.dot, and nothing else is computed with it, on a GPU neither: convert it "
            "first, x.to(tl.float32)"
        )
