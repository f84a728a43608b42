import tdev
import torch


def rand(*shape, **kwargs):
    return _create(tdev.rand, *shape, **kwargs)


def ones(*shape, device=None):
    return _create(*shape, function=tdev.ones, device=device)


def elsewhere(n):
    return make(tdev.zeros, n, device="cuda")


def on_the_cpu(n):
    return make(torch.zeros, n, device="cpu"), fill(torch.zeros, n)


def _create(function, *shape, device=None, **kwargs):
    return [function(n, device=device, **kwargs) for n in shape]


def fill(function, n):
    return function(n)
