"""``sim`` as an ``Accelerator``: what memory, streams and random-number emulation ask."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch

from tdev_core.accelerator import Accelerator, Counted
from tdev_core.accelerators import lagging
from tdev_core.accelerators.privateuse import thread_generator
from tdev_core.accelerators.privateuse.generator import DeviceGenerator
from tdev_core.accelerators.sim import memory, pinned, rng, sharing

__all__ = ["SimAccelerator"]


class SimAccelerator(Accelerator):
    """The simulated devices. Operators finish before they return, so nothing is pending but what sleeps."""

    type = "sim"

    def device_count(self) -> int:
        """Return ``TDEV_SIM_DEVICES``."""
        return memory.device_count()

    def current_device(self) -> int:
        """Return the index of the calling thread's current device."""
        return memory.current_device()

    def set_device(self, index: int) -> None:
        """Make ``index`` current; RuntimeError where there is none."""
        memory.set_device(index)

    def synchronize(self, index: int) -> None:
        """Check the index; work is done when the call that started it returns, all but a sleep."""
        memory.pool(index)
        if lagging.asked:
            lagging.wait(lagging.device(index))

    def allocated(self, index: int) -> int:
        """Return the bytes of live storages."""
        return memory.pool(index).allocated

    def peak(self, index: int) -> int:
        """Return the most bytes of live storages at once."""
        return memory.pool(index).bytes.peak

    def reset_peak(self, index: int) -> None:
        """Let the peak start again from what is held now."""
        memory.pool(index).reset_peak()

    def counted(self, index: int) -> Counted:
        """Return bytes, storages and refusals of the device's pool."""
        pool = memory.pool(index)
        return Counted(pool.bytes, pool.blocks, pool.ooms, pool.syncs)

    def emptied(self) -> None:
        """Count that ``empty_cache`` was called, on each device that was used."""
        for index in range(memory.device_count()):
            pool = memory.pool(index)
            with pool.lock:
                pool.syncs += pool.used

    def reset_totals(self, index: int) -> None:
        """Let totals and refusals start again from 0."""
        memory.pool(index).reset_totals()

    def total(self, index: int) -> int:
        """Return ``TDEV_SIM_MEMORY``, or this device's share of half of the host's memory."""
        return memory.pool(index).total

    def free(self, index: int) -> int:
        """Return the capacity that is not held."""
        pool = memory.pool(index)
        return max(pool.total - pool.allocated, 0)

    def manual_seed(self, seed: int, index: int) -> None:
        """Seed the device's generator; see ``tdev_core.accelerators.sim.rng`` for what links it to the CPU's."""
        memory.pool(index)
        rng.manual_seed(seed, index)

    def seed(self, index: int) -> int:
        """Seed from entropy; returns the seed."""
        memory.pool(index)
        return rng.default_generator(index).seed()

    def initial_seed(self, index: int) -> int:
        """Return the seed the device's numbers started from."""
        memory.pool(index)
        return rng.default_generator(index).initial_seed()

    def get_rng_state(self, index: int) -> torch.Tensor:
        """Return the generator's state, uint8 on the CPU."""
        memory.pool(index)
        return rng.default_generator(index).get_state()

    def set_rng_state(self, state: torch.Tensor, index: int) -> None:
        """Restore what :meth:`get_rng_state` gave."""
        memory.pool(index)
        rng.default_generator(index).set_state(state)

    def generator(self, index: int) -> torch.Generator:
        """Return the device's default generator, always the same object."""
        memory.pool(index)
        return rng.default_generator(index)

    def drawing_from(self, generator: torch.Generator) -> AbstractContextManager[object]:
        """Draw from ``generator`` in this thread."""
        return thread_generator.drawing_from(generator)

    def new_generator(self, index: int) -> torch.Generator:
        """Make a new generator for draws on the device: what ``torch.Generator("cuda")`` means here."""
        memory.pool(index)
        return DeviceGenerator(torch.device("sim", index))

    def pins(self) -> bool:
        """Tell whether factories may be asked for pinned memory."""
        return pinned.pins()

    def in_bad_fork(self) -> bool:
        """Tell whether this process was forked from one that had used the device."""
        return sharing.in_bad_fork()
