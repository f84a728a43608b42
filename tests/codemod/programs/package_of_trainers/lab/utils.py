import torch


def pick_device(gpu=None):
    if gpu is not None:
        return f"cuda:{gpu}" if torch.cuda.is_available() else "cpu"
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
