import torch

def f(*args, **kwargs):
    return torch.load(*args, **kwargs), torch.zeros(*args, **kwargs)
