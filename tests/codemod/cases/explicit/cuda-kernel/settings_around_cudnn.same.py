from contextlib import nullcontext

import torch


def convolve(x: torch.Tensor, weight):
    with _cudnn_disabled() if x.is_cuda else nullcontext():
        return torch.nn.functional.conv2d(x, weight)
