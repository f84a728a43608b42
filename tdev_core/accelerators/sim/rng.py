"""Random numbers of the ``sim`` devices: one generator for each, the program's own device linked to the CPU's.

What a CUDA program expects of its device's generator, and what a comparison with the CPU expects,
differ only in one thing: whether draws on the device and draws on the CPU take turns in one sequence.

* ``sim:0`` starts *linked*: its draws continue the CPU default generator's sequence, so a program
  that calls ``torch.manual_seed(s)``, makes its parameters on the CPU and drops out on the device sees
  the numbers that it sees on the CPU, to the last bit. ``torch.manual_seed`` links again.
* Seeding the device by itself (``torch.sim.manual_seed``), giving it a state or a seed through its
  generator unlinks it: from then on it has its own sequence, which CPU draws do not disturb. If the
  seed or state given is the very one that the CPU's generator has at that moment (``manual_seed(s);
  cuda.manual_seed_all(s)``, or ``fork_rng`` and checkpointing putting both back), the two stay linked.
* In a process that is one of several ranks every device is linked: each rank computes on another, and what all ranks
  draw after the same seed has to be the same on all, as it is on CUDA.
* Elsewhere ``sim:1`` and up always have their own, and so has every device under ``TDEV_SIM_RNG=own``.

In every case the same seeds and the same program give the same numbers. A device's generator is handed to the CPU's
kernels (:mod:`~tdev_core.accelerators.drawing`); the CPU's own, which other threads draw from meanwhile, is never
touched.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys

import torch

from tdev_core.accelerators.drawing import DrawsFrom
from tdev_core.accelerators.privateuse import thread_generator
from tdev_core.accelerators.privateuse.generator import DeviceGenerator

__all__ = ["DefaultGenerator", "configure", "default_generator", "drawing"]

_generators: list[DefaultGenerator] = []


class DefaultGenerator(DeviceGenerator):
    """A device's default generator; while ``linked`` it speaks for ``torch.default_generator``."""

    linked: bool
    links: bool
    """Whether the settings let it be linked at all."""

    def _may_link(self) -> bool:
        own = self.source is self
        return self.links and own and (self._device.index == 0 or _is_one_of_several())

    def _relink(self) -> bool:
        """Stay with the CPU's generator if it is in our state now; whether we do."""
        own = super().get_state()
        self.linked = self._may_link() and torch.equal(own, torch.default_generator.get_state())
        return self.linked

    def manual_seed(self, seed: int) -> DefaultGenerator:
        """Seed this device; links if the CPU's generator has just been given the same seed."""
        super().manual_seed(seed)
        self._relink()
        return self

    def seed(self) -> int:
        """Seed from entropy; returns the seed."""
        self.linked = False
        return super().seed()

    def initial_seed(self) -> int:
        """Return the seed this device's numbers started from."""
        if self.linked:
            return torch.default_generator.initial_seed()
        return super().initial_seed()

    def get_state(self) -> torch.Tensor:
        """Return the state as a uint8 CPU tensor."""
        return torch.default_generator.get_state() if self.linked else super().get_state()

    def set_state(self, new_state: torch.Tensor) -> DefaultGenerator:
        """Continue from ``new_state``; links if the CPU's generator is in that state."""
        super().set_state(new_state)
        self._relink()
        return self

    def graphsafe_set_state(self, state: torch.Generator) -> DeviceGenerator:
        """Have ``state``'s state in common with it from now on; its own stays where the CPU's generator is now."""
        if self.linked:
            super().set_state(self.get_state())
            self.linked = False
        return super().graphsafe_set_state(state)

    def seeded_by_torch(self, seed: int) -> None:
        """Follow ``torch.manual_seed(seed)``, which is about to seed the CPU's generator with the same."""
        super().manual_seed(seed)
        self.linked = self._may_link()


def _is_one_of_several() -> bool:
    # Asked at each seeding too: a program may say late, and to init_process_group alone, that it is a rank.
    if multiprocessing.parent_process() is not None:
        return True
    if os.environ.get("WORLD_SIZE", "") not in ("", "1"):
        return True
    distributed = torch.distributed
    return (
        distributed.is_available()
        and distributed.is_initialized()
        and distributed.get_world_size() > 1
    )


def configure(devices: int, rng: str) -> None:
    """Make the default generators of ``devices`` devices; ``rng`` is ``"linked"`` or ``"own"``."""
    _generators.clear()
    for index in range(devices):
        generator = DefaultGenerator(torch.device("sim", index))
        generator.links = rng == "linked"
        generator.linked = generator._may_link()
        _generators.append(generator)


def default_generator(index: int) -> DefaultGenerator:
    """Return the default generator of device ``index``."""
    return _generators[index]


def manual_seed(seed: int, index: int) -> None:
    """Seed device ``index``, which links or unlinks it as the module says."""
    generator = _generators[index]
    frame = sys._getframe(1)
    for _ in range(3):  # this call comes through the accelerator and the device module
        if frame.f_globals.get("__name__") == torch.manual_seed.__module__:
            generator.seeded_by_torch(seed)
            return
        if frame.f_back is None:
            break
        frame = frame.f_back
    generator.manual_seed(seed)


def drawing(index: int) -> contextlib.AbstractContextManager[object]:
    """Make a context in which CPU kernels draw from device ``index``'s generator where none is passed to them."""
    generator = _generators[index]
    other = thread_generator.named()
    if other is not None:
        return DrawsFrom(other)
    return contextlib.nullcontext() if generator.linked else DrawsFrom(generator.source)
