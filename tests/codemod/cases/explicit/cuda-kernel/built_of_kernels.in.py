import os

import torch
from torch.utils.cpp_extension import load

where = os.path.dirname(__file__)
act = load("act", sources=[os.path.join(where, "src", "act.cpp"), os.path.join(where, "act_kernel.cu")])
conv = load(
    "conv", sources=["src/conv_ext.cpp", "src/conv_cuda.cpp", "src/conv_cuda_kernel.cu"]
)


def built(x):
    from torch.utils.cpp_extension import load as build

    sums = build("sums", sources=["src/sums.cpp", "src/sums_cpu.cpp", "src/sums_cuda.cu"])
    return sums.forward(x) + torch.ones(2)
