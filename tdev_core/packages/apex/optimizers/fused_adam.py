"""Stand in for ``apex.optimizers.fused_adam``.

Source: apex/optimizers/fused_adam.py of the repository NVIDIA/apex, read in November 2026.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from tdev_core.packages.fused_steps import Fused, evaluated, precise
from tdev_core.packages.lacking import attributes_of, refuse

__all__ = ["FusedAdam"]

__getattr__ = attributes_of(__name__)


class FusedAdam(Fused):
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
    def step(
        self,
        closure: Callable[[], Any] | None = None,
        grads: Any = None,
        output_params: Any = None,
        scale: Any = None,
        grad_norms: Any = None,
        grad_scaler: Any = None,
    ) -> Any:
        """Take one step; returns what ``closure`` returns.

        Args:
            grads, output_params, scale, grad_norms: what releases of long ago took; each must be None.
            grad_scaler: read by a capturable step alone, which there is not.

        Raises:
            RuntimeError: one of the former arguments is given, or a gradient is sparse or not real.
        """
        if any(given is not None for given in (grads, output_params, scale, grad_norms)):
            raise RuntimeError(
                "apex.optimizers.FusedAdam.step takes no grads, output_params, scale or grad_norms any more: the gradients are "
                "those of the parameters"
            )
        loss = evaluated(closure)
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            decay = group["weight_decay"]
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                gradient, value = precise(parameter.grad), precise(parameter)
                if decay and not self.adam_w_mode:
                    gradient = gradient + decay * value
                update = self.moments(group, parameter, gradient, 1 - group["betas"][0])
                if decay and self.adam_w_mode:
                    update = update + decay * value
                parameter.copy_(value - group["lr"] * update)
        return loss
