import tdev
import torch


def free(device):
    if device == torch.device("mps"):
        torch.mps.empty_cache()
    if device == torch.device("cuda"):
        torch.cuda.empty_cache()


def half(device):
    return device == torch.device("cuda")


def count():
    return tdev.cuda.device_count()
