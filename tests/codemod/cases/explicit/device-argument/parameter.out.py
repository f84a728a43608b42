import tdev
import torch

def grid(n, device):
    return tdev.arange(n, device=device)

def default(n, device="cuda"):
    return tdev.arange(n, device=device), f"on {device}"

def annotated(n, device: str = "cuda"):
    return tdev.arange(n, device=device)

def optional(n, device: "torch.device | None" = None):
    return torch.arange(n, device=device)
