import torch
import torch.distributed as dist


def barrier(tensor, group):
    if torch.cuda.is_available():
        tensor = tensor.cuda()
    dist.all_reduce(tensor, group=group)
    torch.cuda.synchronize()
