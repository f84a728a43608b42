import torch

from .neighbors import BACKENDS


class Calculator:
    def __init__(self, model, device, backend):
        self.device = torch.device(device)
        self.early = self.device.type == "cuda" and BACKENDS[backend].supports_cuda
        if self.device.type == "cuda" and BACKENDS[backend].supports_cuda:
            self.where = self.device
        self.late = self.device.type == "cuda"
