import tdev
import torch

try:
    import triton
except ImportError:
    triton = None


class Layer:
    def __init__(self, size, fused=True, quick=True):
        self.fused = fused
        self.quick = quick
        self.fused = self.fused and triton is not None and torch.cuda.is_available()
        if size > 3:
            self.quick = self.quick and triton is not None and torch.cuda.is_available()

    def forward(self, x):
        if self.fused:
            torch.cuda.synchronize()
        if self.quick:
            tdev.cuda.synchronize()
        return x


def run(x, fused):
    if fused:
        tdev.cuda.synchronize()
    fused = fused and triton is not None and torch.cuda.is_available()
    if fused:
        torch.cuda.synchronize()
    return x
