"""Stand in for ``apex.parallel.LARC``: rates of layers by the norms of parameters and gradients.

Source: apex/parallel/LARC.py of the repository NVIDIA/apex, read in November 2026.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from tdev_core.packages.lacking import attributes_of

__all__ = ["LARC"]

__getattr__ = attributes_of(__name__)


class LARC:
    """An optimizer whose gradients are scaled, layer by layer, by the norms of parameter and gradient.

    Args:
        optimizer: the optimizer that steps.
        trust_coefficient: the share of the parameter's norm that a step may have.
        clip: whether the rate is at most the optimizer's own.
        eps: added to the denominator.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        trust_coefficient: float = 0.02,
        clip: bool = True,
        eps: float = 1e-8,
    ) -> None:
        self.optim, self.trust_coefficient, self.clip, self.eps = (
            optimizer, trust_coefficient, clip, eps,
        )  # fmt: skip

    def __getattr__(self, name: str) -> Any:
        if name == "optim":  # asked of an object that is being unpickled
            raise AttributeError(name)
        return getattr(self.optim, name)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Scale the gradients, weight decay among them, and have the optimizer step."""
        decays = [group.get("weight_decay", 0.0) for group in self.optim.param_groups]
        with torch.no_grad():
            for group, decay in zip(self.optim.param_groups, decays, strict=True):
                if "weight_decay" in group:
                    group["weight_decay"] = 0.0
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._scale(parameter, group["lr"], decay)
        try:
            return self.optim.step(closure)
        finally:
            for group, decay in zip(self.optim.param_groups, decays, strict=True):
                if "weight_decay" in group:
                    group["weight_decay"] = decay

    def _scale(self, parameter: torch.Tensor, rate: float, decay: float) -> None:
        gradient = parameter.grad
        assert gradient is not None
        lengths = float(parameter.norm()), float(gradient.norm())
        if not all(lengths):
            return
        own = self.trust_coefficient * lengths[0] / (lengths[1] + lengths[0] * decay + self.eps)
        if self.clip:
            own = min(own / rate, 1.0) if rate else 1.0
        gradient.add_(parameter, alpha=decay).mul_(own)
