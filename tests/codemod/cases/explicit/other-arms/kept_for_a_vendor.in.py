import torch

origin_reduce_scatter_tensor = torch.distributed.reduce_scatter_tensor


def mlu_reduce_scatter_tensor(output, given, op):
    return origin_reduce_scatter_tensor(output, given, op)


def setup(device):
    torch.distributed.init_process_group("nccl")
    if device == "mlu":
        torch.distributed.reduce_scatter_tensor = mlu_reduce_scatter_tensor
