import tdev
import torch
import triton
import triton.language as tl


@triton.jit
def _add(x):
    pass


@torch.library.custom_op("pkg::add", mutates_args=(), device_types="cuda")
def add(x: torch.Tensor) -> torch.Tensor:
    return x


def wait():
    tdev.cuda.synchronize()
