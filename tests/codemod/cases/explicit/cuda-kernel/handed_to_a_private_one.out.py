import tdev
import torch

try:
    import triton
except ImportError:
    triton = None


class Layer:
    def __init__(self, size):
        self.fused = triton is not None and torch.cuda.is_available()

    def forward(self, x):
        self._wait(x, self.fused)
        self._count(x, fused=self.fused)
        self._free(x)
        return _move(x, self.fused)

    def _wait(self, x, fused):
        if fused:
            torch.cuda.synchronize()

    def _count(self, x, *, fused=False):
        if not fused:
            return
        torch.cuda.synchronize()

    def _free(self, x, fused=True):
        if fused:
            tdev.cuda.empty_cache()


def _move(x, fused):
    if fused:
        tdev.cuda.synchronize()
    return x


def move(x):
    return _move(x, True)
