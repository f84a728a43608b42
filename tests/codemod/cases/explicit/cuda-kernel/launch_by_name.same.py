import torch
import triton


@triton.jit
def _forward_kernel(x, y):
    pass


@triton.jit
def _backward(x, y):
    _forward_kernel(x, y)


def forward(x, wrap=None):
    y = torch.empty_like(x)
    with torch.cuda.device(x.device):
        (_forward_kernel if wrap is None else wrap(_forward_kernel))[(triton.cdiv(x.numel(), 256),)](x, y)
    return y


def backward(x, wrap=None):
    y = torch.empty_like(x)
    wrapper = wrap or (lambda k: k)
    with torch.cuda.device(x.device):
        wrapper(_backward)[(1,)](x, y)
    return y


def capability(device):
    if device.type == "cuda" and torch.cuda.is_available():
        return str(torch.cuda.get_device_capability(device))
    return "unavailable"
