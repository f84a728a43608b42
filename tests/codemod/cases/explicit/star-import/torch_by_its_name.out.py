import os

import tdev

from .base import np, torch
from .names import load


def build(args):
    return tdev.ones(3, device=args.device), np.ones(3), os.getpid()


def wait():
    tdev.cuda.synchronize()
    return load()
