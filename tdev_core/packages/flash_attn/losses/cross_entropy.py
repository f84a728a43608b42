"""Stand in for ``flash_attn.losses.cross_entropy``: cross entropy in float32, with a z-loss."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from tdev_core.packages.lacking import attributes_of, refuse
from tdev_core.packages.shapes import fitting

__all__ = ["CrossEntropyLoss"]

__getattr__ = attributes_of(__name__)


class CrossEntropyLoss(torch.nn.Module):
    """Cross entropy of logits (N, C) and classes (N,), in float32 at least; 0 where the class is ``ignore_index``.

    Args:
        logit_scale: what the logits are multiplied by.
        lse_square_scale: the share of ``logsumexp(logits) ** 2`` that is added to each loss.
        inplace_backward: whether the kernel may write the gradients over the logits; here it never does.
    """

    def __init__(
        self,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
        logit_scale: float = 1.0,
        lse_square_scale: float = 0.0,
        inplace_backward: bool = False,
        process_group: Any = None,
        return_z_loss: bool = False,
    ) -> None:
        super().__init__()
        if reduction not in ("mean", "none", "sum"):
            raise NotImplementedError(
                f"flash_attn.losses.cross_entropy: reduction is {reduction!r}; 'mean', 'none' and 'sum' are known"
            )
        if process_group is not None:
            refuse(
                "flash_attn.losses.cross_entropy.CrossEntropyLoss",
                "has no logits in parts on several ranks (process_group)",
            )
        self.ignore_index, self.reduction, self.label_smoothing = (
            ignore_index, reduction, label_smoothing,
        )  # fmt: skip
        self.logit_scale, self.lse_square_scale, self.return_z_loss = (
            logit_scale, lse_square_scale, return_z_loss,
        )  # fmt: skip

    def forward(
        self, input: torch.Tensor, target: torch.Tensor, precomputed_lse: torch.Tensor | None = None
    ) -> Any:
        """Return the loss; with ``return_z_loss`` also the part of it that ``lse_square_scale`` makes, without a gradient.

        Args:
            precomputed_lse: ``logsumexp(input)``, shape (N,), which spares a kernel a pass; here it is computed all the same.
        """
        fitting(
            "flash_attn.losses.cross_entropy.CrossEntropyLoss", input=(input, "N C"), target=(target, "int N"),
            precomputed_lse=(precomputed_lse, "N"),
        )  # fmt: skip
        logits = input.to(torch.promote_types(input.dtype, torch.float32))
        if self.logit_scale != 1.0:
            logits = logits * self.logit_scale
        # torch refuses labels of int32, which fit the stand-in all the same.
        labels = target.long() if target.dtype is torch.int32 else target
        loss = F.cross_entropy(
            logits, labels, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip
        if not self.lse_square_scale:
            return (loss, torch.zeros_like(loss)) if self.return_z_loss else loss
        counted = target != self.ignore_index
        extra = self.lse_square_scale * torch.logsumexp(logits, dim=-1).square()
        extra = extra.masked_fill(~counted, 0.0)
        if self.reduction != "none":
            extra = extra.sum()
        if self.reduction == "mean":
            extra = extra / counted.sum()
        return (loss + extra, extra.detach()) if self.return_z_loss else loss + extra
