import tdev

from .neighbors import BACKENDS


class Calculator:
    def __init__(self, model, device, backend):
        self.device = tdev.device(device)
        self.early = self.device.type == "cuda" and BACKENDS[backend].supports_cuda
        if self.device.type == "cuda" and BACKENDS[backend].supports_cuda:
            self.where = self.device
        self.late = tdev.is_accelerator(self.device.type)
