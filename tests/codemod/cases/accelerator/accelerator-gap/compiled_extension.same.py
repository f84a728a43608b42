import torch
from utils import optional_import

_C, _ = optional_import("pkg._C")


class Filter(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, sigma):
        out = _C.bilateral_filter(x, sigma)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return out
