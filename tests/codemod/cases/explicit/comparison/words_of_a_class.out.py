from enum import Enum

import tdev
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
    return tdev.load(path, map_location=Kinds.CUDA.value)


def ready(device, other):
    if tdev.is_accelerator(device.type):
        tdev.cuda.synchronize()
    if not tdev.is_accelerator(device.type):
        tdev.cuda.empty_cache()
    if tdev.is_accelerator(other.device.type):
        tdev.cuda.ipc_collect()
    return tdev.is_accelerator(other.device.type)


def members(device):
    return device.type == Numbered.CUDA  # never: a member of this is no string


def setting(device):
    return device.type == DEVICE
