"""Sums on a GPU.

import cupy
@triton.jit

are what this module does without.
"""

import torch


def total(values):
    """
Written first with
import cupy
    """
    if not torch.cuda.is_available():
        raise RuntimeError("no device")
    return torch.tensor(values, device="cuda").sum()
