import tdev
import torch


def run(x: torch.Tensor):
    kernel_size = 3
    fast = tdev.is_accelerator(x.device.type)
    return fast, kernel_size


def pick_kernel_size(x):
    return tdev.is_accelerator(x.device.type)
