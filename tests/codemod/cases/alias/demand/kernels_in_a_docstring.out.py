"""Sums on a GPU.

import cupy
@triton.jit

are what this module does without.
"""

import tdev as torch


def total(values):
    """
Written first with
import cupy
    """
    if not torch.answers_cuda():
        raise RuntimeError("no device")
    return torch.tensor(values, device="cuda").sum()
