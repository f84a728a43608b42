import tdev
import torch


def prefetch(device):
    with_cuda = torch.cuda.is_available()
    with_xpu = torch.xpu.is_available()
    if device is None:
        device = "cuda" if with_cuda else "cpu"
    return device


def free():
    tdev.cuda.empty_cache()
