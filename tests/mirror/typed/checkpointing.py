# ruff: noqa
from pathlib import Path

import torch


def save(model: torch.nn.Module, optimizer: torch.optim.Optimizer, path: Path) -> None:
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)


def load(model: torch.nn.Module, path: Path, device: torch.device | str) -> int:
    state = torch.load(path, map_location=device, weights_only=True)
    model.load_state_dict(state["model"])
    return model.to(device)  # wrong on purpose


torch.load()
