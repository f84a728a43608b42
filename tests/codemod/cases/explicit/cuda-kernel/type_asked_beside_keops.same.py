import torch
from pykeops.torch import LazyTensor


def sums(x, device):
    found = LazyTensor(x[:, None]).sum(1)
    if device.type == "cuda":
        torch.cuda.synchronize()
        found = found.cpu()
    return found
