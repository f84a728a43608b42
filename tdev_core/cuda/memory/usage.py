"""``torch.cuda.memory`` for the backends whose memory torch does not count itself.

What the numbers mean on each backend:

* ``cpu``: bytes in use on the process's C heap beyond what was there when tdev was imported. Tensors are
  in it, and so are NumPy arrays and other C allocations; see :mod:`tdev_core.accelerators.cpu.heap`. Peaks are
  the highest of the readings taken by every query and by a thread that reads every 10 ms.
* ``sim``, ``mlx``: what the device's own allocator counts.
* ``mps``: torch's own counters, except for the table.

All sizes are bytes. A ``device`` that is not the accelerator raises ``ValueError``.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from functools import cache
from typing import Any

import torch

from tdev_core.accelerator import Accelerator, accelerator
from tdev_core.accelerators.cpu import heap
from tdev_core.accelerators.cpu.accelerator import reserved_mark, used_mark
from tdev_core.backend import Backend, current
from tdev_core.cuda.memory import history, statistics
from tdev_core.devices import device_index
from tdev_core.errors import DeviceWarning, warn_once
from tdev_core.metrics.watermark import Watermark

__all__ = [
    "allocated",
    "device_used",
    "empty_cache",
    "get_fraction",
    "host_stats",
    "host_stats_nested",
    "info",
    "peak",
    "peak_reserved",
    "processes",
    "reserved",
    "reset_accumulated",
    "reset_accumulated_host",
    "reset_peak",
    "reset_peak_host",
    "set_fraction",
    "stats",
    "stats_nested",
    "summary",
]


if current() is Backend.CPU:
    # As early as may be: what is allocated before the baseline is not counted.
    heap.mark()


def allocated(device: Any = None) -> int:
    """Return the bytes in use on ``device``."""
    index = device_index(device)
    if current() is Backend.MPS:
        return torch.mps.current_allocated_memory()
    return accelerator().allocated(index)


def peak(device: Any = None) -> int:
    """Return the most bytes in use at once since the start or the last :func:`reset_peak`."""
    index = device_index(device)
    if current() is Backend.MPS:
        return torch.accelerator.max_memory_allocated()
    return accelerator().peak(index)


def reserved(device: Any = None) -> int:
    """Return the bytes that the allocator has from the system, used or kept for later."""
    return _reserved(device_index(device))


def _reserved(index: int) -> int:
    match current():
        case Backend.CPU:
            return reserved_mark().now()
        case Backend.MPS:
            return torch.mps.driver_allocated_memory()
        case Backend.MLX | Backend.SIM | Backend.CUDA:
            return _held(accelerator(), index)


def _held(device: Accelerator, index: int) -> int:
    """Return what a device's allocator has: MLX keeps what was freed."""
    held = device.allocated(index)
    if device.type == "mlx":
        import mlx.core as mx  # optional: asked for on its own backend only

        held += int(mx.get_cache_memory())
    return held


@cache
def _reserved_mark(index: int) -> Watermark:
    device = accelerator()  # the mark is of this one, whatever the backend is when it is read
    return Watermark(lambda: _held(device, index))


def peak_reserved(device: Any = None) -> int:
    """Return the most bytes reserved at once since the start or the last :func:`reset_peak`."""
    index = device_index(device)
    match current():
        case Backend.CPU:
            return reserved_mark().peak()
        case Backend.SIM:
            return accelerator().peak(index)
        case Backend.MPS:
            return torch.accelerator.max_memory_reserved()
        case Backend.MLX | Backend.CUDA:
            return max(_reserved_mark(index).peak(), accelerator().peak(index))


def reset_peak(device: Any = None) -> None:
    """Let the peaks start again from what is held now."""
    index = device_index(device)
    if current() is Backend.MPS:
        torch.accelerator.reset_peak_memory_stats()
        return
    accelerator().reset_peak(index)
    if current() is Backend.MLX:
        _reserved_mark(index).reset_peak()


def reset_accumulated(device: Any = None) -> None:
    """Let the totals of :func:`stats` start again from 0, and on ``sim`` the number of refusals.

    ``mlx`` keeps no totals.
    """
    index = device_index(device)
    if current() is Backend.CPU:
        used_mark().reset_totals()
        reserved_mark().reset_totals()
    elif current() is Backend.MPS:
        torch.accelerator.reset_accumulated_memory_stats()
    else:
        accelerator().reset_totals(index)


def stats_nested(device: Any = None) -> dict[str, Any]:
    """Return all statistics as nested dictionaries; :mod:`tdev_core.cuda.memory.statistics` says what each one is."""
    index = device_index(device)
    match current():
        case Backend.CPU:
            return statistics.of_heap(used_mark().tally(), reserved_mark().tally(), heap.read())
        case Backend.MPS:
            return statistics.of_dotted(torch.accelerator.memory_stats())
        case Backend.SIM | Backend.MLX | Backend.CUDA:
            counted = accelerator().counted(index)
            return statistics.of_device(counted, reserved(index), peak_reserved(index))


def stats(device: Any = None) -> OrderedDict[str, Any]:
    """Return all statistics in one dictionary with dotted, sorted keys."""
    return statistics.flatten(stats_nested(device))


def summary(device: Any = None, abbreviated: bool = False) -> str:
    """Write the statistics as a table; ``abbreviated`` leaves the lines for single pools out."""
    title = f"tdev memory summary, backend {current().value}, device {device_index(device)}"
    return statistics.table(stats(device), title, abbreviated)


def host_stats_nested() -> dict[str, Any]:
    """Return the statistics of pinned host memory, nested: all 0, these backends have none."""
    return statistics.host_nested()


def host_stats() -> OrderedDict[str, Any]:
    """Return the statistics of pinned host memory with dotted keys."""
    return statistics.flatten(statistics.host_nested())


def reset_accumulated_host() -> None:
    """Do nothing: no pinned host memory, on these backends, has accumulated anything."""


def reset_peak_host() -> None:
    """Do nothing: no pinned host memory, on these backends, has a peak."""


def info(device: Any = None) -> tuple[int, int]:
    """Return free and total bytes. On ``cpu``: what could be allocated without swapping, and physical memory
    (a container's limit counts where it is lower)."""
    index = device_index(device)
    if current() is Backend.MPS:
        free, total = torch.accelerator.get_memory_info()
        return free, total
    return accelerator().free(index), accelerator().total(index)


def device_used(device: Any = None) -> int:
    """Return the bytes that all programs together use on the device; on ``cpu`` of the host's memory."""
    free, total = info(device)
    return max(total - free, 0)


def processes(device: Any = None) -> str:
    """Write one line for this process and what it holds. Other processes' use is not known here."""
    index = device_index(device)
    return (
        f"GPU:{index}\nprocess {os.getpid():>10d} uses {allocated(device) / 2**20:>12.3f} MB memory"
    )


def empty_cache() -> None:
    """Give memory that is free but kept for later back to the system."""
    history.emptied()
    match current():
        case Backend.CPU:
            heap.release()
        case Backend.SIM:
            heap.release()
            accelerator().emptied()
        case Backend.MPS:
            torch.mps.empty_cache()
        case Backend.MLX:
            import mlx.core as mx  # optional: asked for on its own backend only

            mx.clear_cache()
            heap.release()  # where MLX computes on the CPU, that is where its arrays are
        case Backend.CUDA:
            torch.cuda.empty_cache()


_fractions: dict[int, float] = {}


def set_fraction(fraction: float, device: Any = None) -> None:
    """Limit this process to ``fraction`` (0 to 1) of the device's memory.

    ``mlx``, ``mps`` and ``sim`` have such a limit. On ``cpu`` nothing enforces one: the value is
    remembered, and anything below 1 warns once.

    Raises:
        TypeError: ``fraction`` is not a float.
        ValueError: it is not between 0 and 1.
    """
    index = device_index(device)
    if not isinstance(fraction, float):
        raise TypeError(
            f"Invalid type for fraction argument, must be `float`, got {type(fraction).__name__}"
        )
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    match current():
        case Backend.MPS:
            torch.mps.set_per_process_memory_fraction(fraction)
        case Backend.MLX:
            import mlx.core as mx  # optional: asked for on its own backend only

            mx.set_memory_limit(int(fraction * accelerator().total(index)))
        case Backend.SIM:
            from tdev_core.accelerators.sim import (
                memory as devices,  # costs its import on its own backend only
            )

            devices.pool(index).fraction = fraction
        case Backend.CPU | Backend.CUDA:
            if fraction < 1:
                warn_once(
                    f"set_per_process_memory_fraction({fraction}) limits nothing on the "
                    f"'{current().value}' backend; use ulimit or a container's memory limit",
                    DeviceWarning,
                    code="TDEV307",
                    key="set_per_process_memory_fraction",
                    stacklevel=3,
                )
    _fractions[index] = fraction


def get_fraction(device: Any = None) -> float:
    """Return the last fraction given to :func:`set_fraction`, 1.0 if there was none."""
    return _fractions.get(device_index(device), 1.0)
