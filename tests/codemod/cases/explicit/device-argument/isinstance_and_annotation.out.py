import tdev
import torch

def move(x, device: torch.device = tdev.device("cuda")):
    if isinstance(device, torch.device):
        return x.to(device)
    return x
