import torch

from ..utils import ext_loader

ext_module = ext_loader.load_ext("_ext", [
    "furthest",
])


class Furthest(torch.autograd.Function):
    @staticmethod
    def forward(ctx, points, count):
        b, n = points.size()[:2]
        output = torch.cuda.IntTensor(b, count)
        ext_module.furthest(points, output, b=b, n=n, m=count)
        return output
