import os

import torch
import torch.distributed as dist


def init_device(device, backend="nccl"):
    os.environ["CUDA_VISIBLE_DEVICES"] = device
    if torch.cuda.device_count() > 1:
        dist.init_process_group(backend)
        torch.cuda.set_device(dist.get_rank())
