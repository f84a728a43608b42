"""The host as an :class:`~tdev_core.accelerator.Accelerator`: one device, whose memory is the C heap."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache

import torch

from tdev_core.accelerator import Accelerator
from tdev_core.accelerators import host
from tdev_core.accelerators.cpu import heap
from tdev_core.metrics.watermark import Watermark

__all__ = ["CpuAccelerator", "reserved_mark", "used_mark"]


@lru_cache(maxsize=1)
def used_mark() -> Watermark:
    """Peak and totals of the bytes in use."""
    return Watermark(lambda: heap.read().in_use)


@lru_cache(maxsize=1)
def reserved_mark() -> Watermark:
    """Peak and totals of the bytes that the heap has from the system."""
    return Watermark(lambda: heap.read().reserved)


class CpuAccelerator(Accelerator):
    """The ``cpu`` backend. Its generator is ``torch.default_generator``, for tensors live on the CPU."""

    type = "cpu"

    def device_count(self) -> int:
        """1: the host itself."""
        return 1

    def current_device(self) -> int:
        """0."""
        return 0

    def set_device(self, index: int) -> None:
        """There is one device; any index that translation let through is 0."""
        if index != 0:
            raise ValueError(f"the cpu backend has device 0 only, not {index}")

    def synchronize(self, index: int) -> None:
        """Nothing is outstanding: a CPU operator has finished when its call returns."""

    def allocated(self, index: int) -> int:
        """Return bytes in use, see :mod:`tdev_core.accelerators.cpu.heap` for what that counts."""
        return used_mark().now()

    def peak(self, index: int) -> int:
        """Highest reading of :meth:`allocated`, see :mod:`tdev_core.metrics.watermark` for its limits."""
        return used_mark().peak()

    def reset_peak(self, index: int) -> None:
        """Let both peaks, of use and of reservation, start again."""
        used_mark().reset_peak()
        reserved_mark().reset_peak()

    def total(self, index: int) -> int:
        """Physical memory of the host, or the container's limit where that is lower."""
        return host.memory_total()

    def free(self, index: int) -> int:
        """Memory that could be allocated without swapping."""
        return host.memory_available()

    def manual_seed(self, seed: int, index: int) -> None:
        """Seed ``torch.default_generator``.

        Never through ``torch.manual_seed``, which seeds every accelerator and would come back here.
        """
        torch.default_generator.manual_seed(seed)

    def seed(self, index: int) -> int:
        """Seed from entropy; returns the seed."""
        return torch.default_generator.seed()

    def initial_seed(self, index: int) -> int:
        """Return the seed it started from."""
        return torch.default_generator.initial_seed()

    def get_rng_state(self, index: int) -> torch.Tensor:
        """State of the generator, uint8."""
        return torch.default_generator.get_state()

    def set_rng_state(self, state: torch.Tensor, index: int) -> None:
        """Restore a state."""
        torch.default_generator.set_state(state)

    def generator(self, index: int) -> torch.Generator:
        """``torch.default_generator``."""
        return torch.default_generator

    def drawing_from(self, generator: torch.Generator) -> AbstractContextManager[object]:
        """Draw from ``generator`` in this thread."""
        from tdev_core.accelerators.drawing import DrawsFrom  # what few programs need

        return DrawsFrom(generator)
