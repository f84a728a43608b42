import tdev
import torch

def f(device):
    a = device.type in ("cuda", "xpu")
    b = tdev.is_accelerator(device.type)
    c = not tdev.is_accelerator(device.type)
    return torch.ones(1)
