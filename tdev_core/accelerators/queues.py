"""The device side of streams and events: which device an index is, and how its queue is drained."""

from __future__ import annotations

import torch

from tdev_core.accelerator import accelerator
from tdev_core.backend import Backend, current

__all__ = ["device_of_index", "device_type_number", "drain", "select_device"]

# c10/core/DeviceType.h; torch has no function that tells a type's number.
_NUMBERS = {
    Backend.CPU: 0,
    Backend.CUDA: 1,
    Backend.MPS: 13,
    Backend.MLX: 20,  # PrivateUse1, as is the next
    Backend.SIM: 20,
}


def device_type_number() -> int:
    """Return the ``c10::DeviceType`` of the active backend's device, as ``torch.Stream.device_type`` reports it."""
    return _NUMBERS[current()]


def device_of_index(index: int) -> torch.device:
    """Return the device with this index; on ``cpu`` plain ``cpu``, the device that its tensors report."""
    backend = current()
    return (
        torch.device("cpu")
        if backend is Backend.CPU
        else torch.device(backend.value, max(index, 0))
    )


def drain(index: int) -> None:
    """Return when all work queued on device ``index`` is done."""
    if current() is Backend.MPS:
        torch.mps.synchronize()
    else:
        accelerator().synchronize(index)


def select_device(index: int) -> None:
    """Make device ``index`` current, where there is more than one to choose from."""
    if current() in (Backend.MPS, Backend.MLX):
        return  # there is one
    if accelerator().current_device() != index:
        accelerator().set_device(index)
