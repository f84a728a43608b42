import tdev
import torch


def describe():
    if torch.cuda.is_available():
        if torch.version.cuda is None:
            return "ROCm " + torch.version.hip
        return "CUDA " + torch.version.cuda
    return "none"


def is_rocm():
    return bool(torch.version.hip) and torch.cuda.is_available()


def count():
    print(torch.version.cuda)
    return tdev.cuda.device_count()
