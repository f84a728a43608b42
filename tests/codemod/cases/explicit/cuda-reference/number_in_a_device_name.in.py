import torch


def device_of(rank):
    return torch.device(f"cuda:{rank % torch.cuda.device_count()}")
