import time

import torch


def latency(model, shape):
    if next(model.parameters()).is_cuda:
        device = "cuda"
    else:
        raise NotImplementedError("To measure on the cpu is not supported.")
    for _ in range(3):
        if device == "cuda":
            data = torch.rand(shape).cuda()
        model(data)
    torch.cuda.synchronize()
    return time.time()


def pack(x: torch.Tensor):
    if x.device.type != "cuda":
        raise ValueError("pack() does not support CPU tensors")
    return x.cuda()


def start():
    if not torch.cuda.is_available():
        raise RuntimeError("this cannot run on a CPU")
    return torch.zeros(3, device="cuda")


def pin(x: torch.Tensor):
    assert x.is_cuda, "cannot run CUDA streams on a CPU-only build"
    return x.cuda()


def hurry(x: torch.Tensor):
    assert x.is_cuda, "the CPU is too slow for this"
    return x.cuda()
