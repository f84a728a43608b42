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
    if is_available():
        torch.cuda.empty_cache()
