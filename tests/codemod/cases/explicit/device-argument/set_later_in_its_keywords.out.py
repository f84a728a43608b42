import tdev
import torch


def buffer(*shape, dtype=None, device=None):
    options = {}
    if dtype is not None:
        options["dtype"] = dtype
    if device is not None:
        options["device"] = device
    return tdev.empty(*shape, **options)


def beside(x, **options):
    options["device"] = x.device
    return torch.zeros(x.shape, **options)
