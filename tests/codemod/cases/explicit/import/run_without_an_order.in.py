from torch import nn
import torch
from torch.distributed import init_process_group
import numpy as np


def main(rank):
    init_process_group("nccl")
    torch.cuda.set_device(rank)
    return nn, np
