"""Stand in for ``flash_attn.ops.triton.layer_norm``: norms of a sum, which Triton computes there."""

from __future__ import annotations

from typing import Any

import torch

from tdev_core.packages.lacking import attributes_of, refuse
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
    zero_centered_weight: bool = False,
    is_rms_norm: bool = False,
    return_dropout_mask: bool = False,
    out_dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
    residual_out: torch.Tensor | None = None,
) -> Any:
    """Return the norm of ``dropout(x * rowscale) + residual``; the sum, too, with ``prenorm``.

    Args:
        zero_centered_weight: whether the norm is multiplied by ``1 + weight``.
        out_dtype: the norm's dtype; x's where it is None.

    Raises:
        UnsupportedError: a second input or weight, ``return_dropout_mask``, or tensors to write to.
    """
    name = "flash_attn.ops.triton.layer_norm.layer_norm_fn"
    refuse_second(name, x1, weight1, bias1, return_dropout_mask)
    if out is not None or residual_out is not None:
        refuse(name, "writes to no tensors of the caller's (out, residual_out)")
    return norm_of_sum(
        x, weight, bias, residual, eps=eps, dropout=dropout_p, rowscale=rowscale, prenorm=prenorm,
        residual_in_fp32=residual_in_fp32, zero_centered=zero_centered_weight, dtype=out_dtype, rms=is_rms_norm,
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
    zero_centered_weight: bool = False,
    return_dropout_mask: bool = False,
    out_dtype: torch.dtype | None = None,
    out: torch.Tensor | None = None,
    residual_out: torch.Tensor | None = None,
) -> Any:
    """:func:`layer_norm_fn` with an RMS norm."""
    return layer_norm_fn(
        x, weight, bias, residual, x1, weight1, bias1, eps, dropout_p, rowscale, prenorm,
        residual_in_fp32, zero_centered_weight, True, return_dropout_mask, out_dtype, out, residual_out,
    )  # fmt: skip


class RMSNorm(torch.nn.Module):
    """An RMS norm with a weight and no bias, of a sum with a residual."""

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        dropout_p: float = 0.0,
        zero_centered_weight: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.eps, self.zero_centered_weight = eps, zero_centered_weight
        self.drop = torch.nn.Dropout(dropout_p) if dropout_p > 0.0 else None
        self.weight = torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight so that the norm is multiplied by 1."""
        torch.nn.init.constant_(self.weight, 0.0 if self.zero_centered_weight else 1.0)

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
            residual_in_fp32=residual_in_fp32, zero_centered_weight=self.zero_centered_weight,
        )  # fmt: skip
