import torch


def reserved():
    if hasattr(torch.cuda, "memory_reserved"):
        return torch.cuda.memory_reserved()
    else:
        return torch.cuda.memory_cached()


def wait():
    torch.cuda.synchronize()
