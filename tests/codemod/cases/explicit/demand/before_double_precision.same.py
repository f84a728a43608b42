import torch
import torch.distributed as dist


def totals(values):
    if not torch.cuda.is_available():
        raise RuntimeError("CUDA is not available")
    total = torch.zeros(2, device="cuda", dtype=torch.float64)
    total += values
    dist.all_reduce(total)
    return total
