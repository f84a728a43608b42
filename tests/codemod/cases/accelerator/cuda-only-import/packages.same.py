import torch
import triton
import triton.language as tl
from numba import cuda
import pynvml

x = torch.ones(1)


def raw():
    import cupy as cp
    from apex import amp

    return cp, amp
