import tdev
import torch

def f(device, n):
    a = n + (not tdev.is_accelerator(device.type))
    b = not tdev.is_accelerator(device.type)
    c = not (not tdev.is_accelerator(device.type))
    d = [not tdev.is_accelerator(device.type), n]
    e = (
        tdev.is_accelerator(device.type)
    )
    return torch.ones(1) if not tdev.is_accelerator(device.type) else None
