"""Random numbers of the device: every draw takes its MLX key from a torch generator, so that seeds and states work as usual."""

from __future__ import annotations

import threading
from typing import Any

from tdev_core.accelerators.mlx.lazy import mx, torch
from tdev_core.accelerators.privateuse import thread_generator

__all__ = ["default", "key"]

_default: torch.Generator | None = None
_making = threading.Lock()


def default() -> torch.Generator:
    """Give the device's default generator; it starts at torch's default seed."""
    global _default
    if _default is None:
        from tdev_core.accelerators.privateuse.generator import (
            DeviceGenerator,  # imports torch, see `lazy`
        )

        with _making:  # two of them would draw the same numbers
            if _default is None:
                _default = DeviceGenerator(torch.device("mlx", 0))
    return _default


def key(generator: Any = None) -> Any:
    """Draw a fresh MLX key from `generator`, or from the device's default one.

    Raises:
        RuntimeError: `generator` belongs to another device.
    """
    number = torch.empty((), dtype=torch.int64).random_(generator=_own(generator)).item()
    return mx.random.key(number)


def _own(generator: Any) -> Any:
    if generator is None:
        return thread_generator.named() or default()
    from tdev_core.accelerators.privateuse.generator import find  # imports torch, see `lazy`

    found = find(generator)
    if found is None:
        raise RuntimeError(
            f"Expected a 'mlx' device type for generator but found '{generator.device.type}'"
        )
    return found
