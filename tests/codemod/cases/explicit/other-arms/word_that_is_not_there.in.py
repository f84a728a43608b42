import logging

import torch


def resolve_device(device=None):
    if device is None or device == "gpu":
        device = "cuda"
    if isinstance(device, str):
        device = torch.device(device)
    if not torch.cuda.is_available() and device.type == "cuda":
        device = torch.device("cpu")
        logging.warning("No cuda devices were available. The model runs on CPU")
    return device


def batch_size(device: torch.device, count: int) -> int:
    """Choose a size.

    On non-CUDA devices, a program cannot recover from a size that is too large.
    """
    return count if device.type == "cuda" else 32
