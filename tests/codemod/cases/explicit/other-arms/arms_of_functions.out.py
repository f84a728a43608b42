import tdev
import torch
from pkg import is_cuda_available, is_musa_available


def clear():
    if is_cuda_available():
        torch.cuda.empty_cache()
    elif is_musa_available():
        torch.musa.empty_cache()


def wait():
    tdev.cuda.synchronize()
