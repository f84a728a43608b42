import tdev
import torch


def load(backbone, path, n):
    device = next(backbone.parameters()).get_device()
    return torch.load(path, map_location=torch.device("cpu") if device == -1 else torch.device(device)), torch.ones(n, device=device)


def of_a_group(group, n):
    return tdev.ones(n, device=group.get_device())
