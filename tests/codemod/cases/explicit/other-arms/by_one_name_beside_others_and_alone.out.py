import tdev
import torch
from torch.cuda import is_available


def get_default_device():
    if is_available():
        return "cuda"
    elif torch.backends.mps.is_available():
        return "cpu"
    else:
        return "cpu"


def free():
    if tdev.cuda.is_available():
        tdev.cuda.empty_cache()
