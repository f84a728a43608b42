"""Sums on a GPU.

import cupy
@triton.jit

are what this module does without.
"""

import tdev


def total(values):
    """
Written first with
import cupy
    """
    if not tdev.answers_cuda():
        raise RuntimeError("no device")
    return tdev.tensor(values, device="cuda").sum()
