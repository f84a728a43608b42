import torch


def load(path, map_location="cpu"):
    if isinstance(map_location, str):
        map_location = torch.device(map_location)
    return torch.load(path, map_location=map_location)


def build(path, device):
    if device in ["cpu", "mps"]:
        map_location = torch.device("cpu")
    else:
        map_location = None
    return load(path, map_location=map_location)
