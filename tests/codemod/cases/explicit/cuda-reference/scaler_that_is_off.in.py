import torch
from torch.amp import GradScaler


def step(loss, scaler: torch.amp.GradScaler = torch.amp.GradScaler(enabled=False)):
    with torch.autocast("cuda", enabled=False):
        scaler.scale(loss).backward()


def kept(loss, scaler: GradScaler | None = None):
    return loss if scaler is None else scaler.scale(loss)
