import torch


def device_of(rank):
    return torch.device(f"cuda:{rank % torch.cuda.device_count()}")


print(f"cuda: {torch.cuda.device_count()} devices")
