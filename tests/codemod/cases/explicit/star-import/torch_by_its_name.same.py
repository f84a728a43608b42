import os

from .base import np, torch
from .names import load


def build(args):
    return torch.ones(3, device=args.device), np.ones(3), os.getpid()


def wait():
    torch.cuda.synchronize()
    return load()
