"""Tell which devices there are, and choose the current one, for backends other than CUDA."""

from __future__ import annotations

from typing import Any, Literal

import torch

from tdev_core.accelerator import accelerator
from tdev_core.accelerators.queues import select_device
from tdev_core.backend import Backend, availability, current
from tdev_core.devices import device_index

__all__ = [
    "can_access_peer",
    "current_accelerator",
    "current_device",
    "device",
    "device_count",
    "device_of",
    "is_available",
    "is_built",
    "set_device",
]

denied = False
"""Whether :func:`is_available` has been false: ``tdev run`` tells a program that ends badly after it."""


def is_available() -> bool:
    """Tell whether the active backend is an accelerator; ``TDEV_CUDA_AVAILABLE`` overrides the answer."""
    answer = availability()
    if not answer and not torch.compiler.is_compiling():
        global denied
        denied = True
    return answer


def is_built() -> bool:
    """Tell whether torch can use what is called CUDA: built for it, or :func:`is_available` by the backend."""
    return torch.backends.cuda.is_built() or availability()


def _devices() -> int:
    return torch.mps.device_count() if current() is Backend.MPS else accelerator().device_count()


def device_count() -> int:
    """Return number of devices; 0 where :func:`is_available` is false, as in torch."""
    return _devices() if availability() else 0


def current_accelerator(check_available: bool = False) -> torch.device | None:
    """Return the accelerator as a device without index; None on ``cpu``, which is none.

    With ``TDEV_CUDA_AVAILABLE=true`` the CPU is presented as one.
    """
    if current() is Backend.CPU and not availability():
        return None
    if check_available and not availability():
        return None
    return torch.device(current().value)


def current_device() -> int:
    """Index of the current device."""
    one = current() in (Backend.MPS, Backend.MLX)
    return 0 if one else accelerator().current_device()


def set_device(device: Any) -> None:
    """Make ``device`` current. A negative integer changes nothing; an index that the backend lacks
    becomes 0, with one warning."""
    if isinstance(device, int) and not isinstance(device, bool) and device < 0:
        return
    select_device(device_index(device))


class device(torch.cuda.device):
    """Context manager that makes a device current and restores the former one.

    Args:
        device: a device, its index, or None, which is the current one, or a negative integer for no change.

    Source: ``torch.cuda.device``.
    """

    def __init__(self, device: Any) -> None:
        none = isinstance(device, int) and device < 0
        self.idx = -1 if none else current_device() if device is None else device_index(device)
        self.prev_idx = -1
        self._before: list[int] = []

    def __enter__(self) -> None:
        self._before.append(current_device())
        self.prev_idx = self._before[-1]
        if self.idx >= 0:
            select_device(self.idx)

    def __exit__(self, type: Any, value: Any, traceback: Any) -> Literal[False]:
        select_device(self._before.pop())
        return False


class device_of(device, torch.cuda.device_of):
    """Context manager that makes the device of a tensor or storage current.

    Args:
        obj: the tensor or storage; one that is not on the accelerator changes nothing.

    Source: ``torch.cuda.device_of``.
    """

    def __init__(self, obj: Any) -> None:
        place = torch.device(obj.device)
        own = place.type == current().value
        device.__init__(self, (place.index or 0) if own else -1)


def can_access_peer(device: Any, peer_device: Any) -> bool:
    """Tell whether one device reads another's memory: true between two devices made of host memory
    (unless ``sim`` was asked to be a GPU that does not), false for a device and itself, as CUDA answers.
    """
    apart = device_index(device) != device_index(peer_device)
    if current() is not Backend.SIM:
        return apart
    from tdev_core.accelerators.sim import profiles

    profile = profiles.active()
    return apart and (profile is None or profile.peers)
