import sys

import torch


def compiles_flex(device):
    device = torch.device(device)

    if device.type == "cuda":
        return True

    if device.type == "cpu":
        return sys.platform != "darwin"

    return False


def mask(n, device):
    return torch.ones(n, device=device) if compiles_flex(device) else None
