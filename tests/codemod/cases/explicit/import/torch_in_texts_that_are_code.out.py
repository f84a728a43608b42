import tdev
import torch


def count(name):
    n = tdev.cuda.device_count()
    return eval("torch.zeros(3)"), eval("torch." + name), n


def shown():
    """Show a tensor.

    >>> torch.zeros(3)
    """
    return tdev.cuda.device_count()
