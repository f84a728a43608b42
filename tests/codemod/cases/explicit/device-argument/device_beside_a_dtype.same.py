import torch
from library import device_and_dtype, settings


def values(x):
    _device, _dtype = device_and_dtype([x])
    return torch.full((3,), 1.0, device=_device, dtype=_dtype)
