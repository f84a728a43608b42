# ruff: noqa
import torch
from torch.cuda.amp import GradScaler


def step(model: torch.nn.Module, x: torch.Tensor, optimizer: torch.optim.Optimizer) -> float:
    scaler = torch.amp.GradScaler("cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = model(x).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


reveal_type(GradScaler())
reveal_type(torch.autocast("cuda"))
with torch.autocast(dtype=1):
    pass
