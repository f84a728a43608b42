import torch
import triton


@triton.jit
def _add(x, y):
    pass


def add(x: torch.Tensor, y: torch.Tensor):
    assert x.is_cuda
    return _add[(1,)](x, y) if y.is_cuda else x + y


def where(x: torch.Tensor):
    return 1 if x.device.type == "cuda" else 2
