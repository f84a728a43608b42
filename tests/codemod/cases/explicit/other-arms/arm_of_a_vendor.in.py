import torch


def patch(device, fast):
    if device == "mlu":
        torch.distributed.reduce_scatter_tensor = fast
        torch.cuda.synchronize = fast
    torch.cuda.synchronize()


def level(level, size):
    return level.repeat_interleave(torch.tensor(size, device=level.device), dim=2)
