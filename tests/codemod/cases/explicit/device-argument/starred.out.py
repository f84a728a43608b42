import tdev
import torch

def f(*args, **kwargs):
    return tdev.load(*args, **kwargs), torch.zeros(*args, **kwargs)
