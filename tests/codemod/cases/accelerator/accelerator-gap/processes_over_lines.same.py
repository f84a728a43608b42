import torch
import torch.multiprocessing as mp
from torch.distributed import init_process_group


def _setup(rank, world_size):
    init_process_group(backend="nccl", rank=rank, world_size=world_size)


def work(rank, world_size):
    _setup(rank, world_size)


def run(distributed):
    if distributed:
        world_size = torch.cuda.device_count()
        mp.spawn(
            work,
            args=(world_size,),
            nprocs=world_size,
            join=True,
        )
