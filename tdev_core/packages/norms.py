"""Layer and RMS norms of a sum, as kernels of several packages define them, in differentiable operations of torch.

``x`` is scaled and dropped, a residual is added, and the sum is normalized in float32 at least. The sum is handed back, too, where the
next layer adds to it (``prenorm``).

Source: the docstrings of flash_attn.ops.layer_norm and flash_attn.ops.triton.layer_norm (2.8), and of mamba_ssm.ops.triton.layer_norm (2.3).
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
import torch.nn.functional as F

from tdev_core.packages.lacking import refuse
from tdev_core.packages.shapes import fitting

__all__ = ["DropoutAddNorm", "norm_of_sum", "refuse_second"]


def norm_of_sum(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    residual: torch.Tensor | None = None,
    *,
    eps: float,
    dropout: float = 0.0,
    rowscale: torch.Tensor | None = None,
    layerscale: torch.Tensor | None = None,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    zero_centered: bool = False,
    dtype: torch.dtype | None = None,
    rms: bool = False,
) -> Any:
    """Return the norm of ``dropout(x * scales) + residual``; with ``prenorm`` the sum as well.

    Args:
        x: shape (…, C).
        weight, bias: shape (C,).
        residual: shape (…, C).
        rowscale: what each row is multiplied by, shape (…,).
        layerscale: what each channel is multiplied by, shape (C,).
        residual_in_fp32: whether the sum is float32 where there is no residual, whose dtype it has otherwise.
        zero_centered: whether the norm is multiplied by ``1 + weight``.
        dtype: the norm's; x's where it is None.
        rms: whether it is an RMS norm.
    """
    fitting(
        "flash_attn (or mamba_ssm), the norm of a sum", x=(x, "… C"), weight=(weight, "C"), bias=(bias, "C"), residual=(residual, "… C"),
        rowscale=(rowscale, "…"), layerscale=(layerscale, "C"),
    )  # fmt: skip
    total = x.to(torch.promote_types(x.dtype, torch.float32))
    if rowscale is not None:
        total = total * rowscale.to(total.dtype).unsqueeze(-1)
    if layerscale is not None:
        total = total * layerscale.to(total.dtype)
    if dropout:
        total = F.dropout(total, dropout)
    if residual is not None:
        total = total + residual.to(total.dtype)
    scale, shift = (None if t is None else t.to(total.dtype) for t in (weight, bias))
    if zero_centered and scale is not None:
        scale = 1 + scale
    sizes, returned = x.shape[-1:], dtype or x.dtype
    if rms:
        out = F.rms_norm(total, sizes, scale, eps)
        out = out if shift is None else out + shift
    else:
        out = F.layer_norm(total, sizes, scale, shift, eps)
    if not prenorm:
        return out.to(returned)
    kept = x.dtype if residual is None else residual.dtype
    if residual is None and residual_in_fp32:
        kept = torch.promote_types(x.dtype, torch.float32)
    return out.to(returned), total.to(kept)


def refuse_second(name: str, *second: object) -> None:
    """Refuse a second input, weight or bias, and the mask of what was dropped, for the function ``name``.

    Raises:
        UnsupportedError: one of ``second`` is given.
    """
    if any(one is not None and one is not False for one in second):
        refuse(
            name,
            "has no second input or weight (x1, weight1, bias1), and returns no mask (return_dropout_mask)",
        )


class DropoutAddNorm(torch.nn.Module):
    """The norm of a sum with its weight, and a bias where it is a layer norm; nothing is dropped in evaluation."""

    rms: ClassVar[bool]
    bias: torch.nn.Parameter | None

    def __init__(
        self,
        hidden_size: int,
        prenorm: bool = False,
        p: float = 0.0,
        eps: float = 1e-5,
        residual_in_fp32: bool = False,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.prenorm, self.p, self.epsilon = prenorm, p, eps
        self.residual_in_fp32 = residual_in_fp32
        self.weight = torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.register_parameter(
            "bias", None if self.rms else torch.nn.Parameter(torch.empty_like(self.weight))
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1, and the bias to 0."""
        torch.nn.init.ones_(self.weight)
        if self.bias is not None:
            torch.nn.init.zeros_(self.bias)

    def forward(self, x0: torch.Tensor, residual: torch.Tensor | None = None) -> Any:
        """Return the norm of the sum, and the sum with ``prenorm``."""
        return self.of(
            x0, residual, self.weight, self.bias, self.p if self.training else 0.0, self.epsilon,
            prenorm=self.prenorm, residual_in_fp32=self.residual_in_fp32,
        )  # fmt: skip

    @classmethod
    def of(
        cls,
        x0: torch.Tensor,
        residual: torch.Tensor | None,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        dropout_p: float,
        epsilon: float,
        rowscale: torch.Tensor | None = None,
        layerscale: torch.Tensor | None = None,
        prenorm: bool = False,
        residual_in_fp32: bool = False,
        return_dropout_mask: bool = False,
    ) -> Any:
        """Return the norm of ``dropout(x0 * scales) + residual``; see :func:`norm_of_sum`.

        Raises:
            UnsupportedError: ``return_dropout_mask``.
        """
        if return_dropout_mask:
            package = cls.__module__.removeprefix(f"{__name__.rpartition('.')[0]}.")
            function = f"dropout_add_{'rms' if cls.rms else 'layer'}_norm"
            refuse(f"{package}.{function}", "does not return the mask (return_dropout_mask)")
        return norm_of_sum(
            x0, weight, bias, residual, eps=epsilon, dropout=dropout_p, rowscale=rowscale,
            layerscale=layerscale, prenorm=prenorm, residual_in_fp32=residual_in_fp32, rms=cls.rms,
        )  # fmt: skip
