import tdev
import torch

def f(x, device):
    if tdev.is_accelerator(x.device.type):
        return 1
    if tdev.is_accelerator(device.type):
        return 2
    if not tdev.is_accelerator(device.type) and x is not None:
        return 3
    return torch.ones(1)
