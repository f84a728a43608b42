import torch
import triton
import triton.language as tl


@triton.jit
def _first(x_ptr, n: tl.constexpr):
    pass


@triton.jit
def _second(x_ptr, n: tl.constexpr):
    pass


@triton.jit
def _third(x_ptr, n: tl.constexpr):
    pass


class Workspace:
    def __init__(self, size):
        self.buffer = torch.zeros(size, device="cuda")
        self.done = torch.cuda.Event()

    def run(self, x):
        stream = torch.cuda.current_stream().cuda_stream
        _first[(1,)](x, 3)
        return stream
