"""Walks the tensors in arguments and results."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

__all__ = ["kept", "tensors"]


def tensors(values: Any) -> list[torch.Tensor]:
    """Return the tensors in nested containers, in their order."""
    return [one for one in tree_leaves(values) if isinstance(one, torch.Tensor)]


def kept(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy on the host that nothing changes any more."""
    return tensor.detach().to("cpu", copy=True)
