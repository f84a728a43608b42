"""Stand in for ``flash_attn.ops.rms_norm``: RMS norms of a sum."""

from __future__ import annotations

from typing import Any

import torch

from tdev_core.packages.lacking import attributes_of
from tdev_core.packages.norms import DropoutAddNorm, norm_of_sum

__all__ = ["DropoutAddRMSNorm", "RMSNorm", "dropout_add_rms_norm", "rms_norm"]

__getattr__ = attributes_of(__name__)


def rms_norm(x: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    """Return the norm of ``x`` (…, C), in its dtype."""
    out: torch.Tensor = norm_of_sum(x, weight, None, eps=epsilon, rms=True)
    return out


class DropoutAddRMSNorm(DropoutAddNorm):
    """:func:`dropout_add_rms_norm` with its weight; nothing is dropped in evaluation."""

    rms = True


dropout_add_rms_norm = DropoutAddRMSNorm.of


class RMSNorm(torch.nn.Module):
    """An RMS norm with a weight and no bias."""

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        device: Any = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.epsilon = eps
        self.weight = torch.nn.Parameter(torch.empty(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to 1."""
        torch.nn.init.ones_(self.weight)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalize ``x`` (…, hidden_size), in its dtype."""
        return rms_norm(x, self.weight, self.epsilon)
