import tdev
import torch


def check(x: torch.Tensor, y: torch.Tensor):
    if tdev.is_accelerator(y):
        x = x.cuda()
    return f"a CUDA tensor is needed ({x.is_cuda=})", x
