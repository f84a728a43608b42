"""Page-locked memory of the host, as far as a program can ask about it: ``pin_memory()`` copies, ``is_pinned()`` tells.

A pinned tensor's storage is marked. What factories are given (``torch.empty(…, pin_memory=True)``) is not: torch asks an
allocator of the device's for that, which only C++ can give.

Source: ``aten/src/ATen/native/Memory.cpp``; ``_to_copy`` in ``TensorConversions.cpp`` for what is pinned without being asked.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from tdev_core.accelerators.privateuse import torch_api

__all__ = ["install", "mark", "register", "unregister"]

_registered: dict[int, int] = {}
"""Address and size of what ``cudaHostRegister`` was given."""
_changing = threading.Lock()


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
