import torch
import triton
import triton.language as tl


@triton.jit
def _kernel_0(x_ptr, n: tl.constexpr):
    pass


@triton.jit
def _kernel_1(x_ptr, n: tl.constexpr):
    pass


@triton.jit
def _kernel_2(x_ptr, n: tl.constexpr):
    pass


@triton.jit
def _kernel_3(x_ptr, n: tl.constexpr):
    pass


@triton.jit
def _kernel_4(x_ptr, n: tl.constexpr):
    pass


@triton.jit
def _kernel_5(x_ptr, n: tl.constexpr):
    pass


@triton.jit
def _kernel_6(x_ptr, n: tl.constexpr):
    pass


@triton.jit
def _kernel_7(x_ptr, n: tl.constexpr):
    pass


@triton.jit
def _kernel_8(x_ptr, n: tl.constexpr):
    pass


class Workspace:
    def __init__(self, size):
        self.buffer = torch.zeros(size, device="cuda")
        self.done = torch.cuda.Event()

    def run(self, x):
        stream = torch.cuda.current_stream().cuda_stream
        _kernel_1[(1,)](x, 3)
        return stream
