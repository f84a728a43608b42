# ruff: noqa
import torch
from torch import nn, optim
from torch.optim.lr_scheduler import CosineAnnealingLR


def train(model: nn.Module, data: list[torch.Tensor], steps: int = 10) -> list[float]:
    optimizer = optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    schedule = CosineAnnealingLR(optimizer, T_max=steps)
    losses = []
    for x in data:
        loss: torch.Tensor = nn.functional.mse_loss(model(x.cuda()), torch.zeros(1, device="cuda"))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss)
    return losses


compiled = torch.compile(train, mode="max-autotune")
reveal_type(compiled)
optim.AdamW(lr="fast")
