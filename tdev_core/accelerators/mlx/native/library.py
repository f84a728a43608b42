"""Loads the native kernels where they have been built, and puts them before the Python wrappers of kernels.

Without them everything works, by Python alone.
"""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx import dtypes, layout, runtime
from tdev_core.accelerators.mlx.lazy import mx
from tdev_core.accelerators.mlx.native import background
from tdev_core.accelerators.mlx.native.background import LIBRARY
from tdev_core.accelerators.mlx.storage import contents
from tdev_core.accelerators.privateuse.native_kernels import Kernels

__all__ = ["answered", "before", "start", "state", "using", "view"]

_kernels = Kernels(LIBRARY, "python -m tdev native", background.remark)
state, answered, using = _kernels.state, _kernels.answered, _kernels.using


def start() -> bool:
    """Load the library if it has been built, and have it built if not; returns whether `before` and `view` may be called."""
    if _kernels.module is not None:
        return True
    library = _kernels.load(background.begin)
    if library is None:
        return False
    library.start(
        runtime._local,
        layout.below,
        contents.read,
        dtypes.to_torch,
        mx.array,
        runtime.drain,
        runtime.PENDING_LIMIT,
    )
    _kernels.module = library
    return True


def before(operator: Any, kernel: Any, float32: Any = None, *, in_place: bool = False) -> None:
    """Answer `operator` with `kernel`, over arrays, where its arguments are simple; the kernel that it has gets the rest.

    Args:
        operator: an overload of ``torch.ops.aten`` with a kernel for the device, which gives tensors and nothing else.
        float32: what to call instead where every operand is float32; see `Row.float32`.
        in_place: whether the result takes the place of the first argument's array.
    """
    _kernels.module.front(*_named(operator), kernel, float32, in_place)


def view(operator: Any, by: str) -> None:
    """Answer a view operator by torch's own kernel of ``aten::by``, without a detour through Python."""
    _kernels.module.view(*_named(operator), f"aten::{by}")


def _named(operator: Any) -> tuple[str, str]:
    schema = operator._schema
    return schema.name, schema.overload_name
