import tdev as torch
import tdev.distributed as dist

def setup(rank, world):
    dist.init_process_group("nccl", rank=rank, world_size=world)
    torch.cuda.set_device(rank)
    if dist.get_backend() == "nccl":
        dist.barrier(device_ids=[rank])
    return torch.ones(1)
