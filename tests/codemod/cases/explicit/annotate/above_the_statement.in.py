import torch
import py3nvml


def f(x):
    if x.is_cuda:
        return torch.ones(1)
