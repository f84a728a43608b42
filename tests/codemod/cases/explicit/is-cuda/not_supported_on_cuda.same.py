import torch


def order(scores: torch.Tensor):
    # Sorting does not support bool types on CUDA (yet)
    dtype = torch.uint8 if scores.is_cuda else scores.dtype
    return torch.argsort(scores.to(dtype))


def add_up(x: torch.Tensor):
    differs = torch.are_deterministic_algorithms_enabled() and x.is_cuda
    return x.cpu().cumsum(0) if differs else x.cumsum(0)
