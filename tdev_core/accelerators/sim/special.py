"""The few operators whose CPU kernel is not the right answer for a tensor on ``sim``."""

from __future__ import annotations

from typing import Any

import torch

from tdev_core.accelerators.privateuse import torch_api

__all__ = ["OPERATORS", "install"]

OPERATORS = frozenset(
    {
        "_efficientzerotensor",
        "_has_compatible_shallow_copy_type",
        "record_stream",
        "is_pinned",
        "pin_memory",
        "_pin_memory",
    }
)
"""Base names of the operators that this module answers."""

_aten: Any = torch.ops.aten


def _zeros(size: Any, **options: Any) -> torch.Tensor:
    """Instead of a tensor without memory, which has no storage for ``sim`` to own."""
    result: torch.Tensor = _aten.zeros.default(size, **options)
    return result


def _not_pinned(tensor: torch.Tensor, device: Any = None) -> bool:
    return False


def _pin_memory(tensor: torch.Tensor, device: Any = None) -> torch.Tensor:
    if tensor.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{tensor.type()}' only dense CPU tensors can be pinned")
    return tensor


def install() -> None:
    """Register them; pinning also for CPU tensors, which torch would ask the device to pin."""
    torch_api.implement("aten::_efficientzerotensor", _zeros)
    for key in ("PrivateUse1", "CPU"):
        torch_api.implement("aten::is_pinned", _not_pinned, key)
    for key in ("PrivateUse1", "CPU", "AutogradPrivateUse1", "AutogradCPU"):
        torch_api.implement("aten::pin_memory", _pin_memory, key)
