from enum import Enum

import torch

GPU_NAME = "cuda"
DEVICE = "cuda"


class Backends:
    CPU = "cpu"
    CUDA = "cuda"


class Kinds(str, Enum):
    CPU = "cpu"
    CUDA = "cuda"


class Numbered(Enum):
    CPU = "cpu"
    CUDA = "cuda"


def restore(path):
    return torch.load(path, map_location=Backends.CPU)


def restore_on_cuda(path):
    return torch.load(path, map_location=Kinds.CUDA.value)


def ready(device, other):
    if device.type == Backends.CUDA:
        torch.cuda.synchronize()
    if device.type != Kinds.CUDA:
        torch.cuda.empty_cache()
    if other.device.type == Numbered.CUDA.value:
        torch.cuda.ipc_collect()
    return other.device.type == GPU_NAME


def members(device):
    return device.type == Numbered.CUDA  # never: a member of this is no string


def setting(device):
    return device.type == DEVICE
