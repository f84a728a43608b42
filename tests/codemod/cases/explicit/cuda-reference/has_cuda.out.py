import tdev
import torch


def device():
    if tdev.backends.cuda.is_built():
        return tdev.device("cuda:0")
    return torch.device("cpu")
