import tdev
import torch


def module_of(device):
    try:
        return getattr(torch, device.type)
    except AttributeError:
        return torch.cuda


def module():
    return tdev.cuda
