import torch


def cuda_device_if_there(index: int = 0):
    """Return the device of CUDA; the CPU where it is missing."""
    if torch.cuda.is_available():
        return torch.device(f"cuda:{index}")
    return torch.device("cpu")


def mps_device_if_there():
    """Return the device of MPS; the CPU where it is missing."""
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")
