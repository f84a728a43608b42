import tdev
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


def make(device="cuda"):
    tdev.cuda.synchronize()
    return tdev.zeros(3, device=device)
