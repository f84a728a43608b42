import platform

import torch


def choose():
    if platform.system() == "Darwin":
        if torch.backends.mps.is_available():
            return "mps"
    elif torch.cuda.is_available():
        return "cuda"
    return "cpu"


def start(n):
    return torch.zeros(n, device=choose())


def other(n):
    if torch.cuda.is_available():
        kind = "cuda"
    elif platform.machine() == "arm64":
        if torch.backends.mps.is_built():
            kind = "mps"
        else:
            kind = "cpu"
    else:
        kind = "cpu"
    return torch.zeros(n, device=kind)
