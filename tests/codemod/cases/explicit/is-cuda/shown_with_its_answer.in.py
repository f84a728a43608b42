import torch


def check(x: torch.Tensor, y: torch.Tensor):
    if y.is_cuda:
        x = x.cuda()
    return f"a CUDA tensor is needed ({x.is_cuda=})", x
