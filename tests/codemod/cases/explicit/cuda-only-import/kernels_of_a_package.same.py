import torch
from cpm_kernels.kernels.base import LazyKernelCModule


def compress(weight):
    return torch.zeros(3, device="cuda")
