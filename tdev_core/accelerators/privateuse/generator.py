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

    def clone_state(self) -> DeviceGenerator:
        """Make a new generator for the same device with the same state."""
        return _rebuild(str(self._device), self.get_state())

    def __reduce__(self) -> Any:
        return _rebuild, (str(self._device), self.get_state())


def find(generator: torch.Generator) -> DeviceGenerator | None:
    """Return the ``DeviceGenerator`` that ``generator`` is or wraps; None for any other generator."""
    return _by_address.get(generator._cdata)  # type: ignore[attr-defined]


def _rebuild(device: str, state: torch.Tensor) -> DeviceGenerator:
    generator = DeviceGenerator(torch.device(device))
    generator.set_state(state)
    return generator
