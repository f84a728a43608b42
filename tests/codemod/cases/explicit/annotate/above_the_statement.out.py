import torch
# tdev: cuda-only-import: pynvml (NVIDIA's management library) exists for CUDA only
import pynvml


def f(x):
    # tdev: is-cuda: is_cuda guards code that only CUDA can run; left as it is
    if x.is_cuda:
        return torch.ones(1)
