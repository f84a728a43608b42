from typing import Optional

import torch


def predict(x, device: Optional[torch.device] = None):
    if device is not None:
        if isinstance(device, str):
            device = torch.device(device)
        x = x + torch.zeros(3, device=device)
    return x


def ones(n, device: torch.device):
    device = torch.device(device) if isinstance(device, str) else device
    return torch.ones(n, device=device)


def exact(n, device: torch.device):
    return torch.ones(n, device=torch.device(device))
