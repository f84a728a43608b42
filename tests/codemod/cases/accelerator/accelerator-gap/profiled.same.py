import torch
from torch.profiler import profile


def run(model, data):
    data = data.to(device="cuda")
    with profile() as p:
        model.to(device="cuda")(data)
    return p.key_averages().table(sort_by="self_cuda_time_total")


def bench(data):
    from awq.modules.linear import WQLinear_GEMM

    return WQLinear_GEMM(data.cuda())
