import torch


def default_device(device="cuda"):
    return torch.device(device) if torch.cuda.is_available() else torch.device("cpu")


def given(device):
    return torch.device(device) if torch.cuda.is_available() else torch.device("cpu")
