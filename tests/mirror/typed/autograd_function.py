# ruff: noqa
from typing import Any

import torch


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, digits: int) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.round(x, decimals=digits)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> tuple[torch.Tensor, None]:
        return grads[0], None


y: str = Round.apply(torch.ones(2, requires_grad=True), 1)
z = torch.round("1")
