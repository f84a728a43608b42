import torch
from torch.utils.cpp_extension import load


def build(this_dir, flags):
    load("cuaev", sources=[f"{this_dir}/csrc/cuaev.cpp", f"{this_dir}/csrc/aev.cu"])
    load("mnp", sources=[f"{this_dir}/csrc/mnp.cpp"], extra_cflags=flags)
    return torch.ones(2)
