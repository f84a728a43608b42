import torch

from ..utils import ext_loader

ext_module = ext_loader.load_ext("_ext", ["leaky"])


class Leaky(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bias):
        out = torch.empty_like(x)
        ext_module.leaky(x, bias, out)
        return out


def leaky(x: torch.Tensor, bias):
    if not x.is_cuda:
        return torch.nn.functional.leaky_relu(x + bias)
    return Leaky.apply(x, bias)
