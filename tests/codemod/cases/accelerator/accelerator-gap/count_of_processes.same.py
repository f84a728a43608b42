import torch
import torch.multiprocessing as mp
from torch.distributed import init_process_group


def _setup(rank, world_size):
    init_process_group(backend="nccl", rank=rank, world_size=world_size)


def _entrypoint(rank, world_size, function):
    _setup(rank, world_size)
    function()


def launch(function):
    world_size = torch.cuda.device_count()
    mp.spawn(_entrypoint, args=(world_size, function), nprocs=world_size)


def launch_all(function):
    mp.spawn(_entrypoint, args=(2, function), nprocs=torch.cuda.device_count())


def simple(function):
    mp.spawn(function, nprocs=torch.cuda.device_count())
