# ruff: noqa
import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel


def wrap(model: torch.nn.Module, rank: int) -> torch.nn.Module:
    dist.init_process_group("nccl", rank=rank, world_size=2)
    torch.cuda.set_device(rank)
    if rank == 0:
        return DistributedDataParallel(model.cuda(), device_ids=[rank])
    return FullyShardedDataParallel(model, device_id=rank)


def mean(x: torch.Tensor) -> torch.Tensor:
    dist.all_reduce(x, op=dist.ReduceOp.SUM)
    return x / dist.get_world_size("wrong on purpose", 1)


reveal_type(dist.get_rank())
