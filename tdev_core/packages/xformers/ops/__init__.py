"""Stand in for ``xformers.ops``."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from tdev_core.packages.lacking import attributes_of
from tdev_core.packages.shapes import fitting
from tdev_core.packages.xformers.ops import fmha
from tdev_core.packages.xformers.ops.fmha import (
    AttentionBias,
    AttentionOp,
    AttentionOpBase,
    LowerTriangularMask,
    MemoryEfficientAttentionCkOp,
    MemoryEfficientAttentionCutlassFwdFlashBwOp,
    MemoryEfficientAttentionCutlassOp,
    MemoryEfficientAttentionFlashAttentionOp,
    MemoryEfficientAttentionSplitKCkOp,
    memory_efficient_attention,
    memory_efficient_attention_forward,
)
from tdev_core.packages.xformers.ops.swiglu_op import SwiGLU, swiglu

__all__ = [
    "AttentionBias",
    "AttentionMask",
    "AttentionOp",
    "AttentionOpBase",
    "LowerTriangularMask",
    "MemoryEfficientAttentionCkOp",
    "MemoryEfficientAttentionCutlassFwdFlashBwOp",
    "MemoryEfficientAttentionCutlassOp",
    "MemoryEfficientAttentionFlashAttentionOp",
    "MemoryEfficientAttentionSplitKCkOp",
    "RMSNorm",
    "SwiGLU",
    "fmha",
    "index_select_cat",
    "memory_efficient_attention",
    "memory_efficient_attention_forward",
    "scaled_index_add",
    "swiglu",
    "unbind",
]

__getattr__ = attributes_of(__name__)

AttentionMask = AttentionBias


class RMSNorm(torch.nn.Module):
    """:func:`torch.nn.functional.rms_norm` of the last dimension, of ``dim`` channels."""

    def __init__(self, dim: int, include_weight: bool = True, eps: float = 1e-6) -> None:
        super().__init__()
        self.eps = eps
        self.weight = torch.nn.Parameter(torch.ones(dim)) if include_weight else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize ``x`` (…, dim)."""
        return F.rms_norm(x, x.shape[-1:], self.weight, self.eps)

    def increment_and_forward_(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Add ``y`` to ``x``, in place, and normalize the sum."""
        out: torch.Tensor = self(x.add_(y))
        return out


def unbind(x: torch.Tensor, dim: int) -> tuple[torch.Tensor, ...]:
    """:func:`torch.unbind`."""
    return torch.unbind(x, dim)


def index_select_cat(
    sources: Sequence[torch.Tensor], indices: Sequence[torch.Tensor]
) -> torch.Tensor:
    """Return the rows of each source (S, D) that its indices name, all in one dimension."""
    for source, index in zip(sources, indices, strict=True):
        fitting(
            "xformers.ops.index_select_cat",
            ValueError,
            source=(source, "S D"),
            index=(index, "int N"),
        )
    rows = [source[index.long()].flatten() for source, index in zip(sources, indices, strict=True)]
    return torch.cat(rows)


def scaled_index_add(
    input: torch.Tensor,
    index: torch.Tensor,
    source: torch.Tensor,
    scaling: torch.Tensor | None = None,
    alpha: float = 1.0,
) -> torch.Tensor:
    """Add ``alpha * scaling * source`` to the rows ``index`` of ``input``, in place.

    Args:
        input: shape (B, M, D).
        index: shape (N,), no number twice.
        source: shape (N, M, D).
        scaling: shape (D,); 1 where it is None.
    """
    fitting(
        "xformers.ops.scaled_index_add", ValueError, input=(input, "B M D"), index=(index, "int N"), source=(source, "N M D"),
        scaling=(scaling, "D"),
    )  # fmt: skip
    added = source if scaling is None else source * scaling
    return input.index_add_(0, index, added.to(input.dtype), alpha=alpha)
