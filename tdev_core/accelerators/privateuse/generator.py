"""A ``torch.Generator`` that names a Python device.

``torch.Generator(device="sim")`` needs a C++ hook that a Python backend cannot give, so a device's
generator is a CPU generator that says it belongs to the device. The dispatcher hands kernels a new
Python object over the same C++ generator; :func:`find` gives back ours.
"""

from __future__ import annotations

import weakref
from typing import Any, cast

import torch

__all__ = ["DeviceGenerator", "find"]

_by_address: weakref.WeakValueDictionary[int, DeviceGenerator] = weakref.WeakValueDictionary()


class DeviceGenerator(torch.Generator):
    """A generator (mt19937, as the CPU's) for draws on ``device``; a new one starts at torch's default seed."""

    _device: torch.device
    _other: DeviceGenerator | None = None
    """The generator whose state this one has; None for its own."""

    def __new__(cls, device: torch.device) -> DeviceGenerator:
        new: Any = super().__new__
        generator = cast("DeviceGenerator", new(cls, device="cpu"))
        generator._device = device
        _by_address[generator._cdata] = generator  # type: ignore[attr-defined]
        return generator

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """The device whose numbers this generator draws."""
        return self._device

    @property
    def source(self) -> DeviceGenerator:
        """The generator whose state this one has: itself, or another's since :meth:`graphsafe_set_state`."""
        return self._other or self

    def clone_state(self) -> DeviceGenerator:
        """Make a new generator for the same device with the same state."""
        return _rebuild(str(self._device), self.get_state())

    def graphsafe_get_state(self) -> DeviceGenerator:
        """Make a generator that has this one's state in common with it, as torch's of CUDA do."""
        shared = DeviceGenerator(self._device)
        shared._other = self.source
        return shared

    def graphsafe_set_state(self, state: torch.Generator) -> DeviceGenerator:
        """Have ``state``'s state in common with it from now on.

        Raises:
            RuntimeError: it is of another device.
        """
        if not isinstance(state, DeviceGenerator) or state.device != self._device:
            raise RuntimeError(
                f"Expected a '{self._device}' generator's state but found one of '{state.device}'"
            )
        self._other = None if state.source is self else state.source
        return self

    def _at_source(self, method: str, *args: Any) -> Any:
        if self._other is None:
            return getattr(super(), method)(*args)
        return getattr(self._other, method)(*args)

    def manual_seed(self, seed: int) -> DeviceGenerator:
        """Seed the state."""
        self._at_source("manual_seed", seed)
        return self

    def seed(self) -> int:
        """Seed the state from entropy; returns the seed."""
        return int(self._at_source("seed"))

    def initial_seed(self) -> int:
        """Return the seed that the state started from."""
        return int(self._at_source("initial_seed"))

    def get_state(self) -> torch.Tensor:
        """Return the state as a uint8 CPU tensor."""
        state: torch.Tensor = self._at_source("get_state")
        return state

    def set_state(self, new_state: torch.Tensor) -> DeviceGenerator:
        """Continue from ``new_state``."""
        self._at_source("set_state", new_state)
        return self

    def __reduce__(self) -> Any:
        return _rebuild, (str(self._device), self.get_state())


def find(generator: torch.Generator) -> DeviceGenerator | None:
    """Return the ``DeviceGenerator`` that has the state of the one that ``generator`` is or wraps; None for any other."""
    ours = _by_address.get(generator._cdata)  # type: ignore[attr-defined]
    return None if ours is None else ours.source


def _rebuild(device: str, state: torch.Tensor) -> DeviceGenerator:
    generator = DeviceGenerator(torch.device(device))
    generator.set_state(state)
    return generator
