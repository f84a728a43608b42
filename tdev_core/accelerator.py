"""The interface of a backend's devices, which streams, memory and random-number emulation ask.

CUDA and MPS answer through torch's own modules; the three backends that tdev keeps itself (``cpu``,
``sim``, ``mlx``) answer through one :class:`Accelerator` each.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import NamedTuple

import torch

from tdev_core.backend import Backend, current
from tdev_core.errors import TdevError
from tdev_core.metrics.watermark import Tally

__all__ = ["Accelerator", "Counted", "accelerator"]


class Counted(NamedTuple):
    """The counts of an allocator: ``bytes`` held, ``blocks`` that hold them, requests refused (``ooms``), caches emptied (``syncs``)."""

    bytes: Tally
    blocks: Tally
    ooms: int = 0
    syncs: int = 0


class Accelerator(ABC):
    """One backend's devices. Indices count from 0; memory is in bytes; RNG states are uint8 tensors."""

    type: str
    """The torch device type."""

    @abstractmethod
    def device_count(self) -> int:
        """Tell how many devices there are; at least 1, also on ``cpu``, whose one device is the host."""

    @abstractmethod
    def current_device(self) -> int:
        """Index of the calling thread's current device."""

    @abstractmethod
    def set_device(self, index: int) -> None:
        """Make ``index`` the calling thread's current device."""

    @abstractmethod
    def synchronize(self, index: int) -> None:
        """Return when all work queued on device ``index`` is done."""

    @abstractmethod
    def allocated(self, index: int) -> int:
        """Return bytes that live tensors hold now."""

    @abstractmethod
    def peak(self, index: int) -> int:
        """Return most bytes held at once since the start or the last :meth:`reset_peak`."""

    @abstractmethod
    def reset_peak(self, index: int) -> None:
        """Let the peak start again from what is held now."""

    def counted(self, index: int) -> Counted:
        """Everything that the device's allocator counts."""
        return Counted(Tally(self.allocated(index), self.peak(index)), Tally())

    def reset_totals(self, index: int) -> None:  # noqa: B027 - a device that counts none has none
        """Let the totals of :meth:`counted` start again from 0."""

    def emptied(self) -> None:  # noqa: B027 - a device that caches nothing need not know
        """Count in :meth:`counted` that the cache was emptied."""

    @abstractmethod
    def total(self, index: int) -> int:
        """Capacity of the device."""

    @abstractmethod
    def free(self, index: int) -> int:
        """Return what could still be allocated."""

    @abstractmethod
    def manual_seed(self, seed: int, index: int) -> None:
        """Seed the device's default generator."""

    @abstractmethod
    def seed(self, index: int) -> int:
        """Seed the device's default generator from entropy; returns the seed."""

    @abstractmethod
    def initial_seed(self, index: int) -> int:
        """Return the seed that the device's default generator started from."""

    @abstractmethod
    def get_rng_state(self, index: int) -> torch.Tensor:
        """State of the device's default generator."""

    @abstractmethod
    def set_rng_state(self, state: torch.Tensor, index: int) -> None:
        """Restore what :meth:`get_rng_state` gave."""

    def pins(self) -> bool:
        """Tell whether factories may be asked for page-locked memory (``pin_memory=True``)."""
        return False

    def new_generator(self, index: int) -> torch.Generator:
        """Return a new generator for draws on the device: what ``torch.Generator("cuda")`` means here."""
        return torch.Generator(torch.device(self.type, index))

    @abstractmethod
    def generator(self, index: int) -> torch.Generator:
        """Return the device's default generator."""

    @abstractmethod
    def drawing_from(self, generator: torch.Generator) -> AbstractContextManager[object]:
        """Make a context in which the calling thread's draws on the device come from ``generator`` instead of its default one."""


# Names, so that the interface knows none of its implementations and imports only the active one.
_IMPLEMENTATIONS = {
    Backend.CPU: "tdev_core.accelerators.cpu.accelerator:CpuAccelerator",
    Backend.SIM: "tdev_core.accelerators.sim.accelerator:SimAccelerator",
    Backend.MLX: "tdev_core.accelerators.mlx.accelerator:MlxAccelerator",
}

# What accelerator() answers, once it is known. A plain global: torch.compile traces through it.
_active: Accelerator | None = None


def accelerator() -> Accelerator:
    """Return the :class:`Accelerator` of the active backend.

    Raises:
        TdevError: the active backend is CUDA or MPS, which torch itself answers for.
    """
    global _active
    if _active is None:
        _active = _made()
    return _active


def _made() -> Accelerator:
    backend = current()
    where = _IMPLEMENTATIONS.get(backend)
    if where is None:
        raise TdevError(f"torch answers for {backend.value} itself; this is a bug in tdev")
    module, _, name = where.partition(":")
    made: Accelerator = getattr(importlib.import_module(module), name)()
    return made
