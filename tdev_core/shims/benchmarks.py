"""Shim for ``torch.utils.benchmark.Timer``: its clock waits for the accelerator.

torch's own clock asks ``torch.accelerator.synchronize()``, for which a device that is registered from
Python has no hook: it raises.

Source: ``torch/utils/benchmark/utils/timer.py``.
"""

from __future__ import annotations

import timeit
from collections.abc import Callable
from typing import Any

from tdev_core.accelerators.queues import drain
from tdev_core.backend import Backend, current
from tdev_core.devices import device_index

__all__ = ["timer_waiting"]

_PLACE = 3  # of `timer` among the constructor's positional arguments, `self` not counted


def timer_waiting(original: Callable[..., None]) -> Callable[..., None]:
    """Return the constructor of ``Timer``, with a clock of ours where the program brings none."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if current() in (Backend.MLX, Backend.SIM) and len(args) <= _PLACE:
            kwargs.setdefault("timer", _clock)
        original(self, *args, **kwargs)

    return __init__


def _clock() -> float:
    drain(device_index())
    return timeit.default_timer()
