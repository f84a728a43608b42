import tdev
import torch


def best():
    """Return the device to use: CUDA (NVIDIA), else MPS (Apple), else the CPU."""
    if tdev.cuda.is_available():
        return tdev.device("cuda")
    elif torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
