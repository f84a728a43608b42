import torch
from made import CUDALong


def cat(tensors: list[torch.Tensor], dim=0):
    is_cuda = any(t.is_cuda for t in tensors)
    if is_cuda:
        return CUDALong.cat(tensors, dim=dim)
    return torch.cat(tensors, dim=dim)


def stack(tensors: list[torch.Tensor], dim=0):
    if any(t.is_cuda for t in tensors):
        return CUDALong.stack(tensors, dim=dim)
    return torch.stack(tensors, dim=dim)


def made(share: torch.Tensor):
    if share.is_cuda:
        share = CUDALong(share)
    return share.sum()
