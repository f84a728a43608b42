"""Answers ``triton.language.extra.libdevice`` in the interpreter, where its functions are empty and return None."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from tdev_core.errors import UnsupportedError

__all__ = ["mend"]

_SAME = (
    "exp exp2 log log2 log10 log1p expm1 sqrt sin cos tan sinh cosh tanh floor ceil trunc rint hypot copysign nextafter fmod"
).split()
_OTHERWISE = {
    "abs": "abs", "fabs": "fabs", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "pow": "power", "cbrt": "cbrt", "fmin": "fmin",
    "fmax": "fmax", "nearbyint": "rint", "div_rn": "divide", "mul_rn": "multiply", "add_rn": "add", "sub_rn": "subtract",
    "sqrt_rn": "sqrt", "fast_expf": "exp", "fast_exp": "exp", "fast_logf": "log", "fast_log2f": "log2",
    "fast_log10f": "log10", "fast_sinf": "sin", "fast_cosf": "cos", "fast_tanf": "tan", "fast_powf": "power",
    "fast_dividef": "divide", "fast_tanhf": "tanh", "isnan": "isnan", "isinf": "isinf", "isinff": "isinf",
    "isfinited": "isfinite", "finitef": "isfinite", "signbit": "signbit",
}  # fmt: skip
"""Functions of libdevice that NumPy has by another name."""

_BY_MATH = {
    "erf": math.erf, "erfc": math.erfc, "lgamma": math.lgamma, "tgamma": math.gamma,
}  # fmt: skip


def mend(libdevice: ModuleType) -> None:
    """Give each function of ``triton.language.extra.libdevice`` its meaning, or an error that says it has none here."""
    import numpy as np

    meanings: dict[str, Callable[..., Any]] = {name: getattr(np, name) for name in _SAME}
    meanings |= {name: getattr(np, other) for name, other in _OTHERWISE.items()}
    meanings |= {name: np.vectorize(f, otypes=["float64"]) for name, f in _BY_MATH.items()}
    meanings["rsqrt"] = lambda x: 1 / np.sqrt(x)
    meanings["round"] = lambda x: np.copysign(np.floor(np.abs(x) + np.asarray(0.5, x.dtype)), x)
    meanings["fma"] = lambda x, y, z: x.astype("float64") * y + z
    for name, function in list(vars(libdevice).items()):
        if callable(function) and getattr(function, "__module__", "") == libdevice.__name__:
            found = meanings.get(name)
            mended = _lacking(name) if found is None else _of_tensors(found)
            setattr(libdevice, name, functools.wraps(function)(mended))


def _of_tensors(meaning: Callable[..., Any]) -> Callable[..., Any]:
    def function(*args: Any, _semantic: Any = None) -> Any:
        import numpy as np
        import triton.language as tl
        from triton.runtime.interpreter import TensorHandle

        first = next(arg for arg in args if isinstance(arg, tl.tensor))
        dtype = first.handle.data.dtype
        if first.dtype.scalar == tl.bfloat16:
            raise TypeError("libdevice takes float32 and float64, not bfloat16: convert it first")
        data = [a.handle.data if isinstance(a, tl.tensor) else np.asarray(a, dtype) for a in args]
        with np.errstate(all="ignore"):
            out = meaning(*data)
        truth = out.dtype == bool
        kind = tl.int32 if truth else first.dtype.scalar
        out = out.astype("int32" if truth else dtype)
        blocks = any(isinstance(a, tl.tensor) and a.type.is_block() for a in args)
        return tl.tensor(
            TensorHandle(out, kind), tl.block_type(kind, list(out.shape)) if blocks else kind
        )

    return function


def _lacking(name: str) -> Callable[..., NoReturn]:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(
            f"libdevice.{name} has no meaning in tdev's table for Triton's interpreter. Write it with functions of "
            "triton.language, or run this kernel on CUDA",
            "TDEV104",
        )

    return function
