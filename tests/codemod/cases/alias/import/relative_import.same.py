from . import torch
from .torch import cuda

torch.cuda.synchronize()
cuda.synchronize()
