import torch
import pynvml


def f(x):
    if x.is_cuda:
        return torch.ones(1)
