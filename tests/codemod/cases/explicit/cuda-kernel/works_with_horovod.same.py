import horovod.torch as hvd
import torch


def start():
    hvd.init()
    if torch.cuda.is_available():
        torch.cuda.set_device(hvd.local_rank())


def device():
    return torch.device("cuda:0") if torch.cuda.is_available() else torch.device("cpu")
