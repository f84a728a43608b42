import tdev
import torch


def start(rank):
    num_gpus = max(1, tdev.cuda.device_count())
    tdev.cuda.set_device(rank % num_gpus)


def start_slurm(process):
    num_gpus = max(1, tdev.cuda.device_count())
    tdev.cuda.set_device(process % num_gpus)
    return process % num_gpus


def any_there():
    num_gpus = tdev.cuda.device_count()
    return num_gpus > 0


def seeded(seed):
    return torch.manual_seed(seed)
