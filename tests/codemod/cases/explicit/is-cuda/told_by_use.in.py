import torch


class Net(torch.nn.Module):
    def forward(self, z, other: dict):
        if z.is_cuda:
            return z
        return other.is_cuda


def scale(thing, what):
    rows = thing.size(0)
    return rows if thing.is_cuda else what.is_cuda
