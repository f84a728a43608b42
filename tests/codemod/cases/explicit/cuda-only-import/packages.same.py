import cupy as cp
import torch
import triton
import triton.language as tl
from apex import amp
from numba import cuda
import pynvml

x = torch.ones(1)
