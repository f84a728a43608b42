import torch
import torch.distributed as dist


def gather(obj, group):
    is_nccl_backend = dist.get_backend(group) == dist.Backend.NCCL
    current_device = torch.device("cpu")
    if is_nccl_backend:
        current_device = torch.device("cuda", torch.cuda.current_device())
    return obj.to(current_device)
