import os

import torch
import torch.distributed as dist


def start(kwargs, local_rank):
    dist.init_process_group(backend=kwargs.get("backend", "nccl"), init_method="env://")
    torch.cuda.set_device(local_rank)


def start_anywhere(local_rank):
    backend = "gloo" if os.name == "nt" else "nccl"
    dist.init_process_group(backend=backend)
    torch.cuda.set_device(local_rank)


def wait():
    torch.accelerator.synchronize()
