import torch

from .log import logger


def validate(opt):
    if torch.cuda.is_available() and not opt.gpu_ranks:
        logger.warn("You have a CUDA device, should run with -gpu_ranks")
    if opt.world_size < len(opt.gpu_ranks):
        raise AssertionError("parameter counts of -gpu_ranks must be less or equal than -world_size.")
