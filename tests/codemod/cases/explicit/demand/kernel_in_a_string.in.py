import torch

SOURCE = """
extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }
"""


def compiled(make):
    if torch.cuda.is_available() is False:
        raise RuntimeError("no GPU")
    return make(SOURCE)


def total(x):
    return x.sum() + torch.zeros(1, device="cuda")
