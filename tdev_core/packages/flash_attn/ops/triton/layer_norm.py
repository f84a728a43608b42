"""Stand in for ``flash_attn.ops.triton.layer_norm``: norms of a sum, which Triton computes there."""

from __future__ import annotations

from typing import Any

import torch

from tdev_core.packages.lacking import attributes_of, refuse
from tdev_core.packages.norms import norm_of_sum

__all__ = ["RMSNorm", "layer_norm_fn", "rms_norm_fn"]

__getattr__ = attributes_of(__name__)


def layer_norm_fn(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    residual: torch.Tensor | None = None,
    x1: torch.Tensor | None = None,
    weight1: torch.Tensor | None = None,
    bias1: torch.Tensor | None = None,
    eps: float = 1e-6,
    dropout_p: float = 0.0,
    rowscale: torch.Tensor | None = None,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    is_rms_norm: bool = False,
    return_dropout_mask: bool = False,
) -> Any:
    """Return the norm of ``dropout(x * rowscale) + residual``, in x's dtype; the sum, too, with ``prenorm``.

    Raises:
        UnsupportedError: a second input or weight, or ``return_dropout_mask``.
    """
    if x1 is not None or weight1 is not None or bias1 is not None or return_dropout_mask:
        refuse(
            "flash_attn.ops.triton.layer_norm.layer_norm_fn",
            "has no second input or weight (x1, weight1, bias1), and returns no mask (return_dropout_mask)",
        )
    return norm_of_sum(
        x, weight, bias, residual, eps=eps, dropout=dropout_p, rowscale=rowscale, prenorm=prenorm,
        residual_in_fp32=residual_in_fp32, rms=is_rms_norm,
    )  # fmt: skip


def rms_norm_fn(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    residual: torch.Tensor | None = None,
    x1: torch.Tensor | None = None,
    weight1: torch.Tensor | None = None,
    bias1: torch.Tensor | None = None,
    eps: float = 1e-6,
    dropout_p: float = 0.0,
    rowscale: torch.Tensor | None = None,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    return_dropout_mask: bool = False,
) -> Any:
    """:func:`layer_norm_fn` with an RMS norm."""
    return layer_norm_fn(
        x, weight, bias, residual, x1, weight1, bias1, eps, dropout_p, rowscale, prenorm,
        residual_in_fp32, True, return_dropout_mask,
    )  # fmt: skip


class RMSNorm(torch.nn.Module):
    """An RMS norm with a weight and no bias, of a sum with a residual."""

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        dropout_p: float = 0.0,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.eps = eps
        self.drop = torch.nn.Dropout(dropout_p) if dropout_p > 0.0 else None
        self.weight = torch.nn.Parameter(torch.ones(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)

    def forward(
        self,
        x: torch.Tensor,
        residual: torch.Tensor | None = None,
        prenorm: bool = False,
        residual_in_fp32: bool = False,
    ) -> Any:
        """Return :func:`rms_norm_fn` of ``x`` (…, hidden_size)."""
        dropout = self.drop.p if self.drop is not None and self.training else 0.0
        return rms_norm_fn(
            x, self.weight, None, residual, eps=self.eps, dropout_p=dropout, prenorm=prenorm,
            residual_in_fp32=residual_in_fp32,
        )  # fmt: skip
