import os


def is_gpu(device):
    """Whether it is one."""
    import tdev

    return tdev.is_accelerator(device.type)


def later():
    import torch

    return torch.ones(1)
