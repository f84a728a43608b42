from typing import Callable

import torch


def cli(fn: Callable, rank: int):
    assert torch.cuda.is_available(), "CUDA device is required!"
    return fn(rank)


def validate_runtime(device: torch.device, size: int):
    if device.type != "cuda":
        raise ValueError(f"this decoder requires CUDA, got {device}")
    if size < 1:
        raise ValueError("size")


def fused(name):
    if name == "fused_adam":
        if not torch.cuda.is_available():
            raise ValueError("CUDA must be available to use fused_adam")
    return torch.optim.Adam
