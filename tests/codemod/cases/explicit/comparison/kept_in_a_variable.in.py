import torch


def run(x: torch.Tensor):
    kernel_size = 3
    fast = x.device.type == "cuda"
    return fast, kernel_size


def pick_kernel_size(x):
    return x.device.type == "cuda"
