import torch


def copied(tensor: torch.Tensor) -> torch.Tensor:
    host = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
    return host.copy_(tensor, non_blocking=tensor.is_cuda)


def staged(shape, device: torch.device):
    return torch.zeros(shape, pin_memory=device.type == "cuda"), torch.ones(shape, pin_memory=torch.cuda.is_available())


def pinned(shape, pin):
    return torch.empty(shape, pin_memory=pin), torch.empty(shape, pin_memory=True)
