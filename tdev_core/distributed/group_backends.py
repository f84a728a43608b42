"""Backends of process groups by the names that a program has for them.

A program that asked for NCCL compares ``get_backend()`` to ``"nccl"``, and is answered in its own words;
torch itself, and libraries that ask torch, are told the truth.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist

from tdev_core.devices import ACCELERATORS
from tdev_core.distributed.backend_names import available

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

__all__ = [
    "asked_for",
    "get_backend",
    "get_backend_config",
    "get_default_backend_for_device",
    "is_backend_available",
    "is_nccl_available",
    "remember",
]

# What the program called each group's backend. Groups made without naming one inherit the default's.
_asked: WeakKeyDictionary[ProcessGroup, str] = WeakKeyDictionary()


def remember(group: Any, asked: str) -> None:
    """Note that the program calls ``group``'s backend ``asked``."""
    # Ranks outside a new group get a sentinel instead of a group.
    if isinstance(group, dist.ProcessGroup):
        _asked[group] = asked.lower()


def asked_for(group: ProcessGroup | None) -> str | None:
    """Return the backend that the program named for ``group``, or None where torch's own answer is it."""
    world = dist.group.WORLD
    if group is None:
        return None if world is None else _asked.get(world)
    named = _asked.get(group)
    if named is not None or world is None or world not in _asked:
        return named
    # Made without tdev (a DeviceMesh does): inherited, if it is what the default group really has.
    return _asked[world] if dist.get_backend(group) == dist.get_backend(world) else None


def get_backend(group: ProcessGroup | None = None) -> str:
    """Return the backend of ``group`` as the program asked for it (``"nccl"``), else as torch has it.

    Raises:
        ValueError: no default process group, or this rank is not in ``group``.
    """
    truth = dist.get_backend(group)
    asked = asked_for(group)
    return truth if asked is None else dist.Backend(asked)


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """Return the ``device:backend`` pairs of ``group``, in the words in which it was asked for.

    Raises:
        ValueError: no default process group, or this rank is not in ``group``.
    """
    truth = dist.get_backend_config(group)
    asked = asked_for(group)
    if asked is None or asked == "undefined":
        return truth
    return str(dist.distributed_c10d.BackendConfig(dist.Backend(asked)))


def is_nccl_available() -> bool:
    """Tell whether ``init_process_group("nccl")`` works here, which it does wherever gloo is."""
    return available("nccl")


def is_backend_available(backend: str) -> bool:
    """Tell whether a process group can be made for ``backend``, a name or ``device:backend`` pairs.

    Raises:
        ValueError: pairs that are malformed.
    """
    if ":" not in backend:
        return available(backend)
    pairs = dist.distributed_c10d.BackendConfig(dist.Backend(backend)).get_device_backend_map()
    return all(available(str(name)) for name in pairs.values())


def get_default_backend_for_device(device: str | torch.device) -> str:
    """Return the backend for tensors on ``device``, by the name that a CUDA program knows.

    Raises:
        ValueError: a device type for which no backend is registered.
    """
    kind = device.type if isinstance(device, torch.device) else device.partition(":")[0]
    if kind in ACCELERATORS and kind not in dist.Backend.default_device_backend_map:
        return "nccl"
    return dist.get_default_backend_for_device(device)
