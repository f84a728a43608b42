"""Has older releases of the interpreter compute what the newest does, which is what a GPU computes.

- Before Triton 3.7 a number was made of an array of one element by ``int``, which NumPy 2.4 refuses: ``range(0, K, B)`` failed.
- Before 3.8 ``tl.maximum`` of a number and NaN was NaN, where a GPU returns the number.
- Before 3.9 ``tl.fma`` rounded twice.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

__all__ = ["mend"]


def mend(interpreter: ModuleType) -> None:
    """Mend ``triton.runtime.interpreter``, whose classes are Triton's own."""
    np, builder = interpreter.np, interpreter.InterpreterBuilder
    vars(interpreter)["_patch_lang_tensor"] = _counting(vars(interpreter)["_patch_lang_tensor"])
    builder.create_minnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmin)
    builder.create_maxnumf = lambda self, lhs, rhs: self.binary_op(lhs, rhs, np.fmax)
    if not hasattr(interpreter._interpreter, "fma_fp32"):
        builder.create_fma = _fused(interpreter)


def _counting(function: Any) -> Any:
    """Have a tensor of one element be the number that a loop or a grid counts with."""

    @functools.wraps(function)
    def _patch_lang_tensor(tensor: Any, *scope: Any) -> None:
        function(tensor, *scope)
        tensor.__index__ = lambda self: int(
            self.handle.data.item()
        )  # the scope takes it away again

    return _patch_lang_tensor


def _fused(interpreter: ModuleType) -> Any:
    """Return a product and a sum that are rounded together; of float64, for which there is nothing wider, one by one."""
    np = interpreter.np

    def create_fma(self: Any, x: Any, y: Any, z: Any) -> Any:
        wide = (arg.data.astype(np.float64) for arg in (x, y))
        found = np.multiply(*wide) + z.data
        return interpreter.TensorHandle(found.astype(z.data.dtype), z.dtype.scalar)

    return create_fma
