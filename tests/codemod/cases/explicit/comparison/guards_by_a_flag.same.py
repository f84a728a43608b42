import torch

_TRITON_AVAILABLE = False

def use_kernel(device):
    return _TRITON_AVAILABLE and device.type == "cuda"
