import torch


def choose(device, x):
    if device.type == "cuda" and torch.cuda.is_available():
        return 1
    if device.type == torch.device("cuda").type and not torch.cuda.is_available():
        return 2
    return x.is_cuda and torch.cuda.device_count() > 1
