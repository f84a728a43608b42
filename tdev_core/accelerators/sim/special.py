"""The few operators whose CPU kernel is not the right answer for a tensor on ``sim``."""

from __future__ import annotations

from typing import Any

import torch

from tdev_core.accelerators.privateuse import torch_api
from tdev_core.accelerators.sim import pinned

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
"""Base names of the operators that this module answers, or :mod:`.pinned`."""

_aten: Any = torch.ops.aten


def _zeros(size: Any, **options: Any) -> torch.Tensor:
    """Instead of a tensor without memory, which has no storage for ``sim`` to own."""
    result: torch.Tensor = _aten.zeros.default(size, **options)
    return result


def install() -> None:
    """Register them."""
    torch_api.implement("aten::_efficientzerotensor", _zeros)
    pinned.install()
