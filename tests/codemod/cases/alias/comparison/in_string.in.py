import torch

def f(device, x):
    a = "cuda" in str(device)
    b = "cuda" in device.type
    c = "cuda" not in str(x.device)
    return torch.ones(1)
