import tdev
import torch


def start(device, rank):
    tdev.cuda.empty_cache()
    if device == "cuda":
        torch.cuda.set_device(rank)
        torch.distributed.init_process_group(backend="nccl", init_method="env://")
    elif device == "xpu":
        torch.distributed.init_process_group(backend="ccl", init_method="env://")
    return rank
