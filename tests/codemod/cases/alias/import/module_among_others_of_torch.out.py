from abc import ABC

import tdev as torch
import tdev._dynamo
import tdev.distributed as dist
from torch import nn


def f():
    torch.cuda.synchronize()
    dist.init_process_group("nccl")
    torch._dynamo.reset()
