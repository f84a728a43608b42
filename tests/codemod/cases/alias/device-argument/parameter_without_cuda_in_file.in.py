import torch

def grid(n, device):
    return torch.arange(n, device=device)
