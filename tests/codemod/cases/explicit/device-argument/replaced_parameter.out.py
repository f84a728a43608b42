import tdev
import torch

def grid(n, device="cuda"):
    device = tdev.device(device)
    return torch.arange(n, device=device)
