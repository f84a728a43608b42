import torch


def gpu(device):
    if device == "cuda" or device == "cuda:0":
        return 0
    if device == "cpu" or device == "cuda":
        return 1
    if device != "cuda" and device != "cuda:0":
        return 3
    return torch.device(device)


def of_a_tensor(x):
    return x.device.type == "cuda" or x.device.type == "cuda:0"
