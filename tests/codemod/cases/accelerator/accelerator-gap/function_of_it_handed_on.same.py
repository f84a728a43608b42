import torch


def _any2cuda(value):
    return value.cuda(non_blocking=True)


def prefetched(loader):
    if torch.cuda.is_available():
        return prefetch(_any2cuda, loader)
    return iter(loader)
