import torch

try:
    import causal_conv1d
except ImportError:
    causal_conv1d = None

HAS_KERNELS = causal_conv1d is not None and torch.cuda.is_available()


class Layer:
    def __init__(self, size, fused=False, timed=False):
        self.fused = HAS_KERNELS or size > 3
        self.timed = HAS_KERNELS
        self.counts = HAS_KERNELS

    def count(self):
        self.counts = True

    def forward(self, x):
        if self.fused:
            torch.cuda.synchronize()
        if self.timed:
            torch.cuda.synchronize()
        if self.counts:
            torch.cuda.synchronize()
        return x


def time(layer):
    layer.timed = True
    shadow(HAS_KERNELS)


def shadow(HAS_KERNELS):
    if HAS_KERNELS:
        torch.cuda.synchronize()
