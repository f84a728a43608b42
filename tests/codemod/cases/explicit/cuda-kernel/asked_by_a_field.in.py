import torch

try:
    import causal_conv1d
except ImportError:
    causal_conv1d = None

HAS_KERNELS = causal_conv1d is not None and torch.cuda.is_available()
FAST = None


class Base:
    fused = False


class Layer(Base):
    def __init__(self, size, fused=False):
        self.fused = HAS_KERNELS
        self.warm = False
        self.stream = None
        if self.fused:
            self.stream = torch.cuda.Stream()
            self.warm = True

    @property
    def is_fast(self):
        return self.fused and self.warm

    def chooses(self):
        if not self.fused:
            return False
        return True

    def forward(self, x):
        if self.is_fast:
            torch.cuda.synchronize()
        if self.chooses():
            torch.cuda.empty_cache()
        if self.stream is not None:
            torch.cuda.current_stream().wait_stream(self.stream)
        if not self.warm:
            return x
        torch.cuda.synchronize()
        return x


def set_up():
    global FAST
    if HAS_KERNELS:
        FAST = object()


def finish():
    if FAST is not None:
        torch.cuda.synchronize()
    torch.cuda.synchronize()
