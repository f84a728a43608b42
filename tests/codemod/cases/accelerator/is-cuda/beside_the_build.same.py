import torch


def fast(x: torch.Tensor) -> bool:
    return x.is_cuda and torch.version.hip is None


def new(x: torch.Tensor) -> bool:
    return x.device.type == "cuda" and torch.cuda.get_device_capability() >= (9, 0)


def both() -> bool:
    return torch.cuda.is_available() and torch.cuda.get_device_capability()[0] >= 8
