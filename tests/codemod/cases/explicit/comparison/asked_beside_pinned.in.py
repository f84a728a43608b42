import torch


def is_pinned(tensor: torch.Tensor) -> bool:
    return torch.cuda.is_available() and tensor.is_pinned()


def free():
    torch.cuda.empty_cache()
