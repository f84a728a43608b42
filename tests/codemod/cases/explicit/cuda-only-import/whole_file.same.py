import torch
import triton

import cupy as cp
from apex import amp


def f(x):
    torch.cuda.synchronize()
    if x.is_cuda:
        return cp.asarray(x.to("cuda"))
    return torch.zeros(3, device="cuda")
