"""Guards the current device in compiled functions, where there are several: compiled again for another one.

A device without an index means the current one. Which one that is is asked while the program is compiled,
and asked again, as one of the guards, whenever the compiled function is called.

Source: ``constant_fold_functions_need_guards`` in ``torch/_dynamo/variables/torch.py``, private to
torch.

Raises, when taught:
    AttributeError: the installed torch has no such table. What is current then stays as it was at first.
"""

from __future__ import annotations

from typing import Any

import torch

from tdev_core import devices
from tdev_core.accelerator import accelerator
from tdev_core.backend import Backend, current
from tdev_core.compiler.dynamo_effects import substitute

__all__ = ["current_index", "teach", "translated"]

_translate = devices.translate


def current_index() -> int:
    """Return the index of the calling thread's current device."""
    return accelerator().current_device()


def translated(spec: Any, index: int) -> Any:
    """Return the device that ``spec`` means while device ``index`` is current, as it is now."""
    return _translate(spec)


def teach() -> None:
    """Have the compiler guard the current device wherever a device is translated."""
    if current() in (Backend.CUDA, Backend.MPS):
        return
    devices_here = accelerator()  # its first call imports, which the compiler does not trace
    if current() is not Backend.SIM or devices_here.device_count() == 1:
        return
    from torch._dynamo.variables import torch as torchs

    known: Any = torchs
    tables = (known.constant_fold_functions, known.constant_fold_functions_need_guards)
    torch.compiler.allow_in_graph(current_index)
    for table in tables:
        table[current_index] = None
    translated._dynamo_marked_constant = True  # type: ignore[attr-defined]

    @substitute(devices.translate)
    def _(spec: Any) -> Any:
        return translated(spec, current_index())
