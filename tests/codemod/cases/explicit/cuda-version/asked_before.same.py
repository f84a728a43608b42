import torch


def newer(version):
    return version


def has_ampere():
    if not (torch.version.cuda and newer(f"{torch.version.cuda}")):
        return False
    return True
