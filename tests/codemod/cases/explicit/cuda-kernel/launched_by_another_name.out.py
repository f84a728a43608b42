import tdev
import torch
import triton
import triton.language as tl


@triton.jit
def _norm_fwd_fused(
    X,
    N: tl.constexpr,
):
    tl.load(X)


def norm(x, device):
    rstd = torch.empty((3,), device=device)
    _norm_fwd_fused[(3,)](x, rstd)
    return rstd


def other(device):
    return tdev.empty((3,), device=device)
