import torch


def count(name):
    n = torch.cuda.device_count()
    return eval("torch.zeros(3)"), eval("torch." + name), n


def shown():
    """Show a tensor.

    >>> torch.zeros(3)
    """
    return torch.cuda.device_count()
