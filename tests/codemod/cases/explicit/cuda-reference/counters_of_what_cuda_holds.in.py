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
    if device.type == "cuda":
        assert sum(sizes) == torch.cuda.memory_allocated(device)


def told(device):
    print(torch.cuda.memory_allocated(device), torch.cuda.max_memory_allocated(device))


def moves(x):
    x.cuda()
    assert torch.cuda.memory_allocated() == 0
