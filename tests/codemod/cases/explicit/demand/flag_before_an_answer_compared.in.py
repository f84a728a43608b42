import torch


def start(config, rank):
    if config.distributed:
        if torch.cuda.is_available() is False:
            raise OSError("no GPU to train on")
        torch.cuda.set_device(rank)
    if config.use_cuda and torch.cuda.device_count() == 0:
        raise ValueError("CUDA is not available")
