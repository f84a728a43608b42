import torch
from indexer import RunConfig


class Model:
    def __init__(self, n_gpu=-1):
        if n_gpu == -1:
            n_gpu = 1 if torch.cuda.device_count() == 0 else torch.cuda.device_count()
        self.config = RunConfig(nranks=n_gpu)


def place(rank):
    count = torch.cuda.device_count() or 1
    torch.cuda.set_device(rank % count)


def index(rank):
    count = torch.cuda.device_count() or 1
    return rank % count
