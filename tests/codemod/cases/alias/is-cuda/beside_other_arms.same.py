import torch

def fast(x: torch.Tensor):
    return x.is_cuda or x.is_xpu
