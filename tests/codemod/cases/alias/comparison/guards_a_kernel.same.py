import torch

def f(x, device):
    if device.type == "cuda":
        from .kernels import triton_softmax

        return triton_softmax(x)
    return torch.softmax(x, -1)
