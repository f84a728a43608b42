import os

import tdev
import torch

if os.environ.get("JIT") == "1":
    Static = tdev.jit.script
else:

    def Static(function):
        return function


@Static
def product(x: torch.Tensor, w: torch.Tensor):
    if w.device.type == "cuda":
        return x @ w
    return (x.float() @ w.float()).to(x.dtype)


@Static
def zeros(n: int):
    return tdev.zeros(n, device="cuda")


def plain(w: torch.Tensor):
    return tdev.is_accelerator(w.device.type)
