import os

import pytest
import tdev
import tensorboard
import torch.distributed as dist
from PIL import Image
from tdev.distributed import (
    destroy_process_group,
    init_process_group,
)
from torch import nn
from torch.optim import Optimizer


def main(rank):
    init_process_group("nccl")
    dist.barrier()
    tdev.cuda.set_device(rank)
    destroy_process_group()
    return os.getpid(), pytest, tensorboard, Image, nn, Optimizer
