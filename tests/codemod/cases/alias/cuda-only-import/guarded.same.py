import torch

try:
    import flash_attn
except ImportError:
    flash_attn = None

def f():
    import cupy

    return cupy.asarray(torch.ones(1))
