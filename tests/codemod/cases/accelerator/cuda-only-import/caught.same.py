import torch

try:
    import cupy
except ImportError:
    cupy = None

torch.cuda.synchronize()
