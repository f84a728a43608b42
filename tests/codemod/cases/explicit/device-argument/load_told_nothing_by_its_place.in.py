import torch


def load(path, map_location="cpu"):
    if isinstance(map_location, str):
        map_location = torch.device(map_location)
    return torch.load(path, map_location=map_location)


def build(path, where=None):
    return load(path, where)
