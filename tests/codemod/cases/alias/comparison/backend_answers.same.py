import torch

def f(backend):
    assert backend == "nccl"
    return backend in ("nccl", "gloo"), torch.ones(1)
