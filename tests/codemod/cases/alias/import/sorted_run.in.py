import os

import pytest
import tensorboard
import torch
import torch.distributed as dist
from PIL import Image
from torch import nn
from torch.distributed import (
    destroy_process_group,
    init_process_group,
)
from torch.optim import Optimizer


def main(rank):
    init_process_group("nccl")
    dist.barrier()
    torch.cuda.set_device(rank)
    destroy_process_group()
    return os.getpid(), pytest, tensorboard, Image, nn, Optimizer
