import torch

def f(device, other):
    return device.type == "cuda" == other.type, torch.ones(1)
