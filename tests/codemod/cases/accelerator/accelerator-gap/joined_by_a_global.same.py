import torch

rank = 0
world_size = 1


def init(given_rank, given_size, url):
    global rank, world_size
    if given_size > 1:
        rank, world_size = given_rank, given_size
        torch.distributed.init_process_group("nccl", url, rank=rank, world_size=world_size)


def average(metrics):
    if world_size == 1:
        return metrics
    tensor = torch.tensor(metrics, device="cuda")
    torch.distributed.all_reduce(tensor)
    return tensor / world_size
