import torch
# tdev: cuda-only-import: cupy (NumPy for CUDA) exists for CUDA only
import cupy


def f(x):
    # tdev: is-cuda: is_cuda guards code that only CUDA can run; left as it is
    if x.is_cuda:
        return torch.ones(1)
