import tdev
import torch
from program.config import chosen_device


def draw(shape, high):
    if chosen_device() == "meta":
        return torch.randint(0, high, shape, device=chosen_device())
    return tdev.randint(0, high, shape, device=chosen_device())


class Noise:
    def draw(self, shape):
        return torch.randn(shape, device=self.device) if self.device == "cpu" else self.other(shape)
