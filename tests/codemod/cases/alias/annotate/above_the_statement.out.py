import torch
# tdev: cuda-only-import: py3nvml (NVIDIA's management library) exists for CUDA only; use torch.cuda's functions of the same meaning
import py3nvml


def f(x):
    # tdev: is-cuda: is_cuda guards code that only CUDA can run; left as it is
    if x.is_cuda:
        return torch.ones(1)
