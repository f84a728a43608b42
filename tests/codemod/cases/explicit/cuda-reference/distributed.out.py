import tdev
import tdev.distributed as dist
import torch

def setup(rank, world):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    tdev.cuda.set_device(rank)
    if dist.get_backend() == "nccl":
        dist.barrier(device_ids=[rank])
    return torch.ones(1)
