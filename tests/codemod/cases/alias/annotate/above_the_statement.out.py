import torch
# tdev: cuda-only-import: cupy (NumPy for CUDA) exists for CUDA only
import cupy


def f(x):
    # tdev: is-cuda: is_cuda of x, which may not be a tensor
    if x.is_cuda:
        return torch.ones(1)
