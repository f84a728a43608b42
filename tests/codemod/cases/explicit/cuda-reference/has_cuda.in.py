import torch


def device():
    if torch.has_cuda:
        return torch.device("cuda:0")
    return torch.device("cpu")
