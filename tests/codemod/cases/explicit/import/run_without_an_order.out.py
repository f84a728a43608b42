from torch import nn
import tdev
from tdev.distributed import init_process_group
import numpy as np


def main(rank):
    init_process_group("nccl")
    tdev.cuda.set_device(rank)
    return nn, np
