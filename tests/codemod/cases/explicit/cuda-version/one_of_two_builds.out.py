import tdev
import torch


def toolkit():
    if tdev.version.cuda is None:
        return "ROCm " + torch.version.hip
    return "CUDA " + tdev.version.cuda


def short():
    return torch.version.hip[:3] if tdev.version.cuda is None else tdev.version.cuda[:3]


def kept():
    nvidia = tdev.version.cuda is not None
    return tdev.version.cuda if nvidia else torch.version.hip.split("-")[0]


print(toolkit(), short(), kept())
