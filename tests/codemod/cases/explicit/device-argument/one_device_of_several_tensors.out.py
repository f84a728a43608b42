import tdev
import torch


def pad(samples):
    (device,) = tuple(set(x.device for x in samples))
    return torch.empty(len(samples), device=device)


def same(samples, other):
    (device,) = {x.device for x in samples}
    (where, size) = other.places
    return torch.empty(size, device=device), tdev.empty(size, device=where)
