import torch

def f(device):
    if device.startswith("cuda"):
        return torch.ones(1)
    return str(device).startswith("cuda")
