import tdev
import torch

def f(device):
    a = tdev.is_accelerator(device.type)
    b = tdev.is_accelerator(device.type)
    c = not tdev.is_accelerator(device.type)
    return torch.ones(1)
