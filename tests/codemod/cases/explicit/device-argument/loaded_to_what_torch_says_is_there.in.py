from functools import partial

import torch


def best_device(use_gpu=True):
    if torch.cuda.device_count() > 0 and use_gpu:
        device = "cuda"
    elif torch.backends.mps.is_available() and use_gpu:
        device = "mps"
    else:
        device = "cpu"
    return device


def _load(path, device, small=False):
    states = torch.load(path, map_location=device)
    return states if small else states["model"]


def _load_there(path, device):
    return torch.load(path, map_location=device)


def load(path, offload=False, use_gpu=True):
    read = partial(_load, small=True)
    device = best_device(use_gpu)
    if offload:
        device = "cpu"
    return read(path, device)


def load_there(path, device):
    return _load_there(path, device)
