"""Stand in for ``mamba_ssm.ops.triton.layer_norm``: norms of a sum, which Triton computes there."""

from __future__ import annotations

from typing import Any

import torch

from tdev_core.packages.flash_attn.ops.triton import layer_norm as flash_attn
from tdev_core.packages.lacking import attributes_of
from tdev_core.packages.norms import norm_of_sum, refuse_second

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
    refuse_second(
        "mamba_ssm.ops.triton.layer_norm.layer_norm_fn", x1, weight1, bias1, return_dropout_mask
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


class RMSNorm(flash_attn.RMSNorm):
    """An RMS norm with a weight and no bias, of a sum with a residual."""

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        dropout_p: float = 0.0,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(hidden_size, eps, dropout_p, device=device, dtype=dtype)
