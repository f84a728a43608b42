"""Stand in for ``apex.optimizers``: Adam and LAMB, written with torch's own operations on the parameters' device.

Moments are kept in float32 at least, as the kernels keep them.

Source: apex/optimizers/fused_adam.py and fused_lamb.py of the repository NVIDIA/apex, read in November 2026.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch

from tdev_core.packages.lacking import attributes_of, refuse

__all__ = ["FusedAdam", "FusedLAMB"]

__getattr__ = attributes_of(__name__)


class _Fused(torch.optim.Optimizer):
    """The common part of both: the step's number is the group's, and a step may drop the gradients."""

    def __init__(
        self, params: Iterable[Any], defaults: dict[str, Any], amsgrad: bool, drop: bool
    ) -> None:
        if amsgrad:
            raise RuntimeError(f"{type(self).__name__} does not support the AMSGrad variant.")
        super().__init__(params, defaults)
        self.set_grad_none = drop

    def zero_grad(self, set_to_none: bool | None = None) -> None:
        """Drop the gradients, or zero them where ``set_grad_none`` is False."""
        super().zero_grad(self.set_grad_none if set_to_none is None else set_to_none)

    def _moments(
        self, group: dict[str, Any], parameter: torch.Tensor, gradient: torch.Tensor, share: float
    ) -> torch.Tensor:
        """Take ``gradient`` into the moments, and return the update that they make, without decay."""
        if gradient.layout is not torch.strided or not gradient.is_floating_point():
            raise RuntimeError(
                f"apex.optimizers.{type(self).__name__} takes dense real gradients; one is {gradient.dtype}, {gradient.layout}"
            )
        one, two = map(float, group["betas"])
        eps, step = float(group["eps"]), int(group["step"])
        state = self.state[parameter]
        if not state:
            state["exp_avg"] = torch.zeros_like(gradient)
            state["exp_avg_sq"] = torch.zeros_like(gradient)
        first: torch.Tensor = state["exp_avg"].mul_(one).add_(gradient, alpha=share)
        second: torch.Tensor = (
            state["exp_avg_sq"].mul_(two).addcmul_(gradient, gradient, value=1 - two)
        )
        if not group["bias_correction"]:
            return first / (second.sqrt() + eps)
        by = 1 - one**step, 1 - two**step
        return (first / by[0]) / ((second / by[1]).sqrt() + eps)


class FusedAdam(_Fused):
    """Adam with decoupled weight decay (``adam_w_mode``, the default), or with decay as a part of the gradient."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        bias_correction: bool = True,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        adam_w_mode: bool = True,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        set_grad_none: bool = True,
        capturable: bool = False,
        master_weights: bool = False,
    ) -> None:
        if capturable or master_weights:
            refuse("apex.optimizers.FusedAdam", "has no capturable step and no master weights")
        defaults = {
            "lr": lr, "bias_correction": bias_correction, "betas": betas, "eps": eps, "weight_decay": weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults, amsgrad, set_grad_none)
        self.adam_w_mode = adam_w_mode

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step; returns what ``closure`` returns."""
        loss = _evaluated(closure)
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            decay = group["weight_decay"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                gradient, value = _precise(parameter.grad), _precise(parameter)
                if decay and not self.adam_w_mode:
                    gradient = gradient + decay * value
                update = self._moments(group, parameter, gradient, 1 - group["betas"][0])
                if decay and self.adam_w_mode:
                    update = update + decay * value
                parameter.copy_(value - group["lr"] * update)
        return loss


class FusedLAMB(_Fused):
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
        loss = _evaluated(closure)
        everything = [
            p.grad for group in self.param_groups for p in group["params"] if p.grad is not None
        ]
        norm = math.sqrt(sum(float(_precise(g).square().sum()) for g in everything))
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            limit, decay = group["max_grad_norm"], group["weight_decay"]
            clipped = norm / limit if limit and norm > limit else 1.0
            share = 1 - group["betas"][0] if group["grad_averaging"] else 1.0
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                gradient, value = _precise(parameter.grad) / clipped, _precise(parameter)
                if decay and not self.adam_w_mode:
                    gradient = gradient + decay * value
                update = self._moments(group, parameter, gradient, share)
                if decay and self.adam_w_mode:
                    update = update + decay * value
                size = group["lr"]
                if decay or self.use_nvlamb:
                    lengths = float(value.norm()), float(update.norm())
                    size *= lengths[0] / lengths[1] if all(lengths) else 1.0
                parameter.copy_(value - size * update)
        return loss


def _evaluated(closure: Callable[[], Any] | None) -> Any:
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def _precise(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
