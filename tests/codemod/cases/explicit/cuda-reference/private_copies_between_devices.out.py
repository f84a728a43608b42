import tdev
import torch
from tdev.nn.parallel._functions import Broadcast, Gather


def spread(devices: list[torch.device], tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    if all(tdev.is_accelerator(tensor) for tensor in tensors):
        return list(Broadcast.apply(devices, *tensors))
    return [tensor.to(device) for device in devices for tensor in tensors]


def joined(tensors: list[torch.Tensor], dim: int) -> torch.Tensor:
    if all(tdev.is_accelerator(tensor) for tensor in tensors):
        return Gather.apply(tensors[0].device, dim, *tensors)
    return torch.cat([tensor.to(tensors[0].device) for tensor in tensors], dim)


def pieces(batch: torch.Tensor):
    return tdev.nn.parallel._functions.Scatter.apply([0, 1], None, 0, batch)
