import torch

def median(x: torch.Tensor):
    if x.is_cuda:
        from .triton_ops import median_kernel

        return median_kernel(x)
    return x.sort()[0]
