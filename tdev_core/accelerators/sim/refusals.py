"""Refuse what the device that ``sim`` stands for would: operators by name, new tensors by dtype.

Nothing is refused unless a setting asks for it, and then one test of a module's name is all that an operator costs.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch._ops import OpOverload

from tdev_core.accelerators.sim import listening

__all__ = ["Check", "add", "allowed", "asked", "check", "clear", "dtypes", "refuse_dtype"]

Check = Callable[[OpOverload, tuple[Any, ...], dict[str, Any]], None]
"""Look at a call before it runs; raises what the device would."""

asked = False
"""Whether anything looks at calls."""
dtypes: dict[torch.dtype, str] = {}
"""Dtypes of which the device has no tensors, each with the text of the TypeError."""
_checks: list[Check] = []
_changing = threading.Lock()


def add(check: Check) -> None:
    """Have ``check`` look at every call from now on."""
    global asked
    with _changing:
        _checks.append(check)
        asked = True
        listening.listen("refusals")


def refuse_dtype(dtype: torch.dtype, why: str) -> None:
    """Make no new tensors of ``dtype`` from now on, with ``why`` as the text of the TypeError."""
    with _changing:
        dtypes[dtype] = why
        listening.listen("refusals")


def allowed(tensor: torch.Tensor) -> torch.Tensor:
    """Return the CPU's tensor as the device may have it: itself.

    Where torch formats numbers to print them it asks for float64, and for float32 on the devices that it knows to lack it.

    Raises:
        TypeError: the device has no tensors of its dtype.
    """
    why = dtypes.get(tensor.dtype)
    if why is None:
        return tensor
    if tensor.dtype is torch.float64 and _prints():
        return tensor.to(torch.float32)
    raise TypeError(why)


def _prints() -> bool:
    """Tell whether the calling thread is in torch's formatting of a tensor; source: ``torch/_tensor_str.py``."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        frame = frame.f_back
        if frame.f_globals.get("__name__") == "torch._tensor_str":
            return True
    return False


def clear() -> None:
    """Refuse nothing any more: for tests."""
    global asked
    with _changing:
        _checks.clear()
        dtypes.clear()
        asked = False
        listening.listen("refusals", False)


def check(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Have every check look at one call."""
    for look in _checks:
        look(op, args, kwargs)
