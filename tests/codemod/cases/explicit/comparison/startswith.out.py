import tdev
import torch

def f(device):
    if tdev.is_accelerator(device):
        return torch.ones(1)
    return tdev.is_accelerator(str(device))
