"""Page-locked memory of the host, as far as a program can ask about it: ``pin_memory()`` copies, ``is_pinned()`` tells.

A pinned tensor's storage is marked. What factories are asked for (``torch.empty(…, pin_memory=True)``) torch has an
allocator of the device's make, which only C++ can give: the native kernels' library does, where it has been built. Without
it the mirror gives plain memory.

Source: ``aten/src/ATen/native/Memory.cpp``; ``_to_copy`` in ``TensorConversions.cpp`` for what is pinned without being asked.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import torch

from tdev_core.accelerators.privateuse import torch_api

__all__ = ["configure", "install", "mark", "pins", "register", "unregister"]

_registered: dict[int, int] = {}
"""Address and size of what ``cudaHostRegister`` was given."""
_changing = threading.Lock()
_by_the_library: Callable[[Any], bool] | None = None
"""Tells whether a storage is of the allocator in C++, where there is one."""


def configure(by_the_library: Callable[[Any], bool] | None) -> None:
    """Ask ``by_the_library`` whether a storage is of its allocator; None: there is none."""
    global _by_the_library
    _by_the_library = by_the_library


def pins() -> bool:
    """Tell whether factories may be asked for pinned memory."""
    return _by_the_library is not None


def register(address: int, nbytes: int) -> None:
    """Take memory that the program has made for pinned."""
    with _changing:
        _registered[address] = nbytes


def unregister(address: int) -> bool:
    """Take it back; tells whether it had been registered."""
    with _changing:
        return _registered.pop(address, None) is not None


def mark(tensor: torch.Tensor) -> torch.Tensor:
    """Take the CPU tensor ``tensor``'s storage for pinned; returns the tensor."""
    storage: Any = tensor.untyped_storage()
    storage._tdev_pinned = True
    return tensor


def _is_pinned(tensor: torch.Tensor, device: Any = None) -> bool:
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        return False
    storage = tensor.untyped_storage()
    if getattr(storage, "_tdev_pinned", False):
        return True
    if _by_the_library is not None and _by_the_library(storage):
        return True
    if not _registered:
        return False
    address = storage.data_ptr()
    with _changing:
        return any(begin <= address < begin + nbytes for begin, nbytes in _registered.items())


def _pin_memory(tensor: torch.Tensor, device: Any = None) -> torch.Tensor:
    if tensor.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
    return tensor if _is_pinned(tensor) else mark(tensor.clone())


def install() -> None:
    """Answer for CPU tensors too, which torch would ask the device about."""
    for key in ("PrivateUse1", "CPU"):
        torch_api.implement("aten::is_pinned", _is_pinned, key)
    for key in ("PrivateUse1", "CPU", "AutogradPrivateUse1", "AutogradCPU"):
        torch_api.implement("aten::pin_memory", _pin_memory, key)
