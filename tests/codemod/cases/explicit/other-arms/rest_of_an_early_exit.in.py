import torch


def device_id(local_rank):
    # An NPU or MPS has no index of its own.
    if not torch.cuda.is_available():
        return local_rank
    count = torch.cuda.device_count()
    return torch.cuda.current_device() % count


def free():
    torch.cuda.empty_cache()
