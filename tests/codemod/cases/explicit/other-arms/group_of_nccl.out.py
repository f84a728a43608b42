import tdev
import torch
import torch.distributed as dist


def is_nccl(group):
    return dist.is_available() and isinstance(group, dist.ProcessGroupNCCL)


def gather(group, size):
    device = torch.device("cpu")
    by_nccl = is_nccl(group)
    if by_nccl:
        device = torch.device("cuda", torch.cuda.current_device())
    return torch.zeros(size, device=device), tdev.zeros(size, device="cuda")
