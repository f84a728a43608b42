import tdev
import torch


class Net(torch.nn.Module):
    def forward(self, z, other: dict):
        if tdev.is_accelerator(z):
            return z
        return other.is_cuda


def scale(thing, what):
    rows = thing.size(0)
    return rows if tdev.is_accelerator(thing) else what.is_cuda
