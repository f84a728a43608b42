import tdev
import torch


def check(sizes, device):
    if sum(sizes) != torch.cuda.memory_allocated(device):
        raise RuntimeError("something else lies there")
    return torch.cuda.max_memory_allocated(device)


def restart(device):
    """Start the peak of a device again if it is a CUDA device, and return it."""
    peak = torch.cuda.max_memory_allocated(device)
    torch.cuda.reset_peak_memory_stats(device)
    return peak


def asked(sizes, device):
    if tdev.is_accelerator(device.type):
        assert sum(sizes) == tdev.cuda.memory_allocated(device)


def told(device):
    print(tdev.cuda.memory_allocated(device), tdev.cuda.max_memory_allocated(device))


def moves(x):
    x.cuda()
    assert tdev.cuda.memory_allocated() == 0
