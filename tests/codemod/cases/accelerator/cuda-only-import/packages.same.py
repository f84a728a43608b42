import torch
import triton
import triton.language as tl
from numba import cuda
import py3nvml

x = torch.ones(1)


def raw():
    import cupy as cp
    import transformer_engine as amp

    return cp, amp
