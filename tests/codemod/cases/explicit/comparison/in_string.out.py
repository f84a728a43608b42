import tdev
import torch

def f(device, x):
    a = tdev.is_accelerator(str(device))
    b = tdev.is_accelerator(device.type)
    c = not tdev.is_accelerator(str(x.device))
    return torch.ones(1)
