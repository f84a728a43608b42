"""Walks the tensors in arguments and results."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

__all__ = ["kept", "tensors", "widened"]


def tensors(values: Any) -> list[torch.Tensor]:
    """Return the tensors in nested containers, in their order."""
    return [one for one in tree_leaves(values) if isinstance(one, torch.Tensor)]


def kept(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy on the host that nothing changes any more."""
    return tensor.detach().to("cpu", copy=True)


def widened(values: Any) -> Any:
    """Return nested containers with their tensors of half precision in float32: what a program does with them is written for that."""
    return tree_map_only(
        torch.Tensor,
        lambda one: one.float() if one.dtype in (torch.bfloat16, torch.float16) else one,
        values,
    )
