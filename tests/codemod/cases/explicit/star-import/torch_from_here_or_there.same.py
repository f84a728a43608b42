import sys

from .base import *

torch.cuda.synchronize()

if sys.platform == "linux":
    from .other import torch


def zeros(n):
    return torch.zeros(n, device="cuda")
