import torch

from platforms import is_cuda

_is_cuda = is_cuda()
if _is_cuda:
    from ops import accept


def accepted(index: torch.Tensor, count: int):
    if _is_cuda and index.is_cuda:
        return accept(index, count)
    return index[:, :count]


def all_at_once(index: torch.Tensor):
    if index.is_cuda:
        return accept(index, 0)
    return index


def moved(x: torch.Tensor):
    is_cuda = x.is_cuda
    if is_cuda and x.requires_grad:
        return x.cpu()
    return x
