import torch
from torch.nn.parallel import DistributedDataParallel


def work(rank, model):
    return DistributedDataParallel(model, device_ids=[rank])


def moved(rank, x):
    return x.to(rank)


y = moved(0, torch.ones(2))
