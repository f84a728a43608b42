"""Sim tensors in other processes: sent ones share memory; a forked child may not use the device.

A CUDA context does not survive ``fork``, and torch says so when a child tries. A program that would
fail on a GPU should fail here, and the CPU kernels' thread pools do not survive it either.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from tdev_core.accelerators.sim import aliasing, fallback, listening, memory

__all__ = ["in_bad_fork", "parts", "rebuilt", "watch_forks"]


def parts(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Take ``tensor`` apart for :func:`rebuilt`: a CPU tensor in shared memory, and what it was."""
    storage: Any = tensor.untyped_storage()
    storage.share_memory_()
    alias = aliasing.host_alias(tensor.detach())
    is_parameter = isinstance(tensor, torch.nn.Parameter)
    return alias, tensor.device.index, tensor.requires_grad, is_parameter


def rebuilt(alias: torch.Tensor, index: int, requires_grad: bool, is_parameter: bool) -> Any:
    """Make a tensor of its :func:`parts`, over the same memory."""
    tensor = aliasing.adopt_tensor(alias, index)
    if is_parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def _after_fork() -> None:
    if any(memory.pool(index).used for index in range(memory.device_count())):
        fallback.forked = True
        listening.listen("fork")


def watch_forks() -> None:
    """Notice forks from now on."""
    os.register_at_fork(after_in_child=_after_fork)


def in_bad_fork() -> bool:
    """Tell whether this process was forked from one that had used the device."""
    return fallback.forked
