import torch


def prefers_slices(x, compiling):
    """Tell which form is faster: eager slices lose to cuDNN at larger batches."""
    return x.device.type == "cuda" and compiling


def is_gpu(x):
    """Tell where a tensor lies."""
    return x.device.type == "cuda"
