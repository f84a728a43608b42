"""The common part of apex's fused optimizers, written with torch's own operations on the parameters' device.

Moments are kept in float32 at least, as the kernels keep them.

Source: apex/optimizers/fused_adam.py and fused_lamb.py of the repository NVIDIA/apex, read in November 2026.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

__all__ = ["Fused", "evaluated", "precise"]


class Fused(torch.optim.Optimizer):
    """An optimizer whose step's number is the group's, and whose ``zero_grad`` may drop the gradients."""

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

    def moments(
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


def evaluated(closure: Callable[[], Any] | None) -> Any:
    """Return what ``closure`` does with gradients; None where there is none."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def precise(tensor: torch.Tensor) -> torch.Tensor:
    """Return ``tensor`` in float32 at least."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
