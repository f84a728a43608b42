"""Nested tensors of ``sim`` (``torch.nested``'s default layout): one buffer on the device, sizes on the CPU.

As on CUDA the metadata is the CPU's. A nested tensor is made anew around its buffer, which shares its
bytes; torch's own kernel puts it on the device, called at the CPU's dispatch key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tdev_core.accelerators.privateuse import torch_api

__all__ = ["KEYS", "METADATA", "buffer", "install", "rebuilt"]

_aten: Any = torch.ops.aten
KEYS = (("NestedTensorPrivateUse1", "NestedTensorCPU"),)
"""The device's dispatch key for nested tensors, and the CPU's."""
METADATA = ("_nested_tensor_size", "_nested_tensor_strides", "_nested_tensor_storage_offsets")
"""Operators that read the sizes, strides and offsets of the parts: integer CPU tensors on any device."""


def buffer(tensor: torch.Tensor, storage: torch.UntypedStorage) -> torch.Tensor:
    """Make a CPU tensor over all of ``storage``, of the dtype of ``tensor``."""
    made: Any = torch.empty(0, dtype=tensor.dtype)
    whole: torch.Tensor = made.set_(storage)
    return whole


def rebuilt(tensor: torch.Tensor, whole: torch.Tensor) -> torch.Tensor:
    """Put the parts of the nested ``tensor`` together again, in the buffer ``whole`` and on its device."""
    made = _aten._nested_view_from_buffer.default
    result: torch.Tensor = torch_api.call_at(
        made, "CPU", whole, *(_read(name, tensor) for name in METADATA)
    )
    return result


def _read(name: str, tensor: torch.Tensor) -> Any:
    return torch_api.call_at(getattr(_aten, name).default, "NestedTensorCPU", tensor)


def install() -> None:
    """Have the metadata stay on the CPU; all other operators are run as those of sparse tensors are."""

    def reading(name: str) -> Callable[[torch.Tensor], Any]:
        return lambda tensor: _read(name, tensor)

    for name in METADATA:
        torch_api.implement(f"aten::{name}", reading(name), KEYS[0][0])
