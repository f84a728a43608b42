import torch
from torch import device as torch_device

from .ops import quantize_cuda


class Tile:
    def to(self, *args, **kwargs):
        device = kwargs.get("device")
        for each in args:
            if isinstance(each, (str, torch_device)):
                device = torch_device(each) if isinstance(each, str) else each
        if device is not None:
            if device.type == "cuda":
                self.moved = quantize_cuda(self, device)
            else:
                self.moved = None
        return self


def run(name: str):
    device = torch.device(name)
    if device.type == "cuda":
        quantize_cuda(None, device)
    return torch.zeros(3).to(device)
