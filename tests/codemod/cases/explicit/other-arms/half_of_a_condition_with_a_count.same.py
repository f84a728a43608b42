import torch
from torch.nn import DataParallel

KNOWN = torch.backends.mps.is_available()


def wrap(model, device: torch.device):
    if torch.cuda.device_count() > 1 and device.type == "cuda":
        model = DataParallel(model)
    return model


def wrap2(model, device: torch.device):
    if device.type == "cuda" and torch.cuda.device_count() > 1:
        model = DataParallel(model)
    return model


def half(x: torch.Tensor, device: torch.device):
    if torch.cuda.is_available() and x.is_cuda:
        return x.half()
    return x
