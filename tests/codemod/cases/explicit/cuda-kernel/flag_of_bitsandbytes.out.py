import tdev
import torch

from .flags import HAS_BNB, load_optimizer


def load(name):
    if HAS_BNB and torch.cuda.is_available():
        return load_optimizer(name)
    raise ImportError("bitsandbytes and CUDA are required")


def free():
    tdev.cuda.empty_cache()
