def run(rank):
    import os
    import sys

    import tdev
    import tdev.distributed as dist
    import torch

    tdev.cuda.set_device(rank)
    dist.init_process_group("nccl")
    return torch.ones(3), os.name, sys.argv


def other():
    import numpy as np
    import tdev
    import torch
    from torch import nn

    tdev.cuda.synchronize()
    return nn.Linear(3, 3), np.ones(3), torch.ones(3)


def third():
    import zlib
    import tdev
    import torch
    import abc

    tdev.cuda.synchronize()
    return torch.ones(3), zlib, abc
