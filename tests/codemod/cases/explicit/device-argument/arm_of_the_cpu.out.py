import tdev
import torch


def restore(path, device):
    if device == "cpu":
        return torch.load(path, map_location=device), torch.zeros(3, device=device)
    return tdev.load(path, map_location=device)
