import torch

def grid(n, device="cuda"):
    device = torch.device(device)
    return torch.arange(n, device=device)
