import os

import torch


def pick_device():
    if torch.cuda.is_available() and torch.cuda.device_count() > 0:
        torch.backends.cuda.preferred_linalg_library("magma")
        return "cuda"

    if os.environ.get("ALLOW_MPS"):
        if torch.backends.mps.is_available():
            return "mps"
        print("MPS is not available")

    return "cpu"


def plain_device():
    if torch.cuda.is_available():
        return torch.device("cuda")
    if os.environ.get("ALLOW_MPS"):
        if torch.backends.mps.is_available():
            return torch.device("mps")
    return torch.device("cpu")
