import time

import tdev
import torch


def latency(model, shape):
    if tdev.is_accelerator(next(model.parameters())):
        device = "cuda"
    else:
        raise NotImplementedError("To measure on the cpu is not supported.")
    for _ in range(3):
        if device == "cuda":
            data = torch.rand(shape).cuda()
        model(data)
    tdev.cuda.synchronize()
    return time.time()


def pack(x: torch.Tensor):
    if not tdev.is_accelerator(x.device.type):
        raise ValueError("pack() does not support CPU tensors")
    return x.cuda()


def start():
    if not tdev.cuda.is_available():
        raise RuntimeError("this cannot run on a CPU")
    return tdev.zeros(3, device="cuda")


def pin(x: torch.Tensor):
    assert tdev.answers_cuda(x), "cannot run CUDA streams on a CPU-only build"
    return x.cuda()


def hurry(x: torch.Tensor):
    assert tdev.answers_cuda(x), "the CPU is too slow for this"
    return x.cuda()
