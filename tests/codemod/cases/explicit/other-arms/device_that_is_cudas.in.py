import torch


def resolve(device):
    if device == torch.device("cuda"):
        device = torch.device("cuda:0")
    return torch.zeros(3, device=device)


def is_supported(device_type):
    return device_type == torch.device("cuda").type


def pick():
    return torch.device("mps") if torch.backends.mps.is_available() else torch.device("cpu")
