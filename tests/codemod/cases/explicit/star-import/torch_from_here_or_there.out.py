import sys

import tdev

from .base import *

tdev.cuda.synchronize()

if sys.platform == "linux":
    from .other import torch


def zeros(n):
    return tdev.zeros(n, device="cuda")
