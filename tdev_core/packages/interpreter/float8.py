"""Has the interpreter convert to and from 8-bit floats as a GPU does, and refuse to compute with them, as a GPU does.

It keeps them as bytes, and computed with those: -3.5 + -4.0 was -0.03. Its conversions rounded ties away from zero, lost the
carry of a full mantissa (-7.8 became -4.0) and made numbers of NaN. Here torch's dtypes convert, rounding to the nearest, ties to
even; what is too large becomes the largest number, as ``cvt.rn.satfinite`` has it.

Source: Triton's issues 2475 and 2640 (no arithmetic), and the conversions in third_party/nvidia/lib of its repository.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

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
    """Convert arrays of bits; what is no 8-bit float comes and goes as an array of floats of its own width."""

    @functools.wraps(function)
    def _convert_float(data: Any, source: Any, target: Any, rounding: Any) -> Any:
        import torch

        kinds = _kinds(interpreter)
        if source not in kinds and target not in kinds:
            return function(data, source, target, rounding)
        numbers = torch.from_numpy(interpreter.np.ascontiguousarray(data))
        if source in kinds:
            numbers = numbers.view(kinds[source])
        wide = numbers.to(torch.float64)
        if target not in kinds:
            bits = getattr(interpreter.np, f"uint{target.primitive_bitwidth}")
            width = getattr(torch, f"float{target.primitive_bitwidth}")
            return wide.to(width).numpy().view(bits)
        kind = kinds[target]
        largest = torch.finfo(kind).max
        kept = wide.clamp(-largest, largest)
        found = _to_odd(kept).to(kind)
        bits = found.view(torch.uint8)
        if rounding == interpreter._ir.ROUNDING_MODE.RTZ:
            bits = bits - (found.to(torch.float64).abs() > kept.abs()).to(torch.uint8)
        return bits.numpy()

    return _convert_float


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
