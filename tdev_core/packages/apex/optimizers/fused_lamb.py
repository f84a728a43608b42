"""Stand in for ``apex.optimizers.fused_lamb``.

Source: apex/optimizers/fused_lamb.py of the repository NVIDIA/apex, read in November 2026.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

from tdev_core.packages.fused_steps import Fused, evaluated, precise
from tdev_core.packages.lacking import attributes_of

__all__ = ["FusedLAMB"]

__getattr__ = attributes_of(__name__)


class FusedLAMB(Fused):
    """LAMB: Adam's update, with a step of the size that the norms of parameter and update tell, layer by layer."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.01,
        amsgrad: bool = False,
        adam_w_mode: bool = True,
        grad_averaging: bool = True,
        set_grad_none: bool = True,
        max_grad_norm: float = 1.0,
        use_nvlamb: bool = False,
    ) -> None:
        defaults = {
            "lr": lr, "bias_correction": bias_correction, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "grad_averaging": grad_averaging, "max_grad_norm": max_grad_norm,
        }  # fmt: skip
        super().__init__(params, defaults, amsgrad, set_grad_none)
        self.adam_w_mode, self.use_nvlamb = adam_w_mode, use_nvlamb

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step, of gradients clipped by the norm of all; returns what ``closure`` returns."""
        loss = evaluated(closure)
        everything = [
            p.grad for group in self.param_groups for p in group["params"] if p.grad is not None
        ]
        norm = math.sqrt(sum(float(precise(g).square().sum()) for g in everything))
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            limit, decay = group["max_grad_norm"], group["weight_decay"]
            clipped = norm / limit if limit and norm > limit else 1.0
            share = 1 - group["betas"][0] if group["grad_averaging"] else 1.0
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                gradient, value = precise(parameter.grad) / clipped, precise(parameter)
                if decay and not self.adam_w_mode:
                    gradient = gradient + decay * value
                update = self.moments(group, parameter, gradient, share)
                if decay and self.adam_w_mode:
                    update = update + decay * value
                size = group["lr"]
                if decay or self.use_nvlamb:
                    lengths = float(value.norm()), float(update.norm())
                    size *= lengths[0] / lengths[1] if all(lengths) else 1.0
                parameter.copy_(value - size * update)
        return loss
