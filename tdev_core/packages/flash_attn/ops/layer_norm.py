"""Stand in for ``flash_attn.ops.layer_norm``: layer norms of a sum."""

from __future__ import annotations

import torch

from tdev_core.packages.lacking import attributes_of
from tdev_core.packages.norms import DropoutAddNorm, norm_of_sum

__all__ = ["DropoutAddLayerNorm", "dropout_add_layer_norm", "layer_norm"]

__getattr__ = attributes_of(__name__)


def layer_norm(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None, epsilon: float
) -> torch.Tensor:
    """Return the norm of ``x`` (…, C), in its dtype."""
    out: torch.Tensor = norm_of_sum(x, weight, bias, eps=epsilon, rms=False)
    return out


class DropoutAddLayerNorm(DropoutAddNorm):
    """:func:`dropout_add_layer_norm` with its weight and bias; nothing is dropped in evaluation."""

    rms = False


dropout_add_layer_norm = DropoutAddLayerNorm.of
