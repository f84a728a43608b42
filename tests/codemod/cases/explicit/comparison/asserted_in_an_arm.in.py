import torch

from other import current


def move(x, sync, device: torch.device):
    if not sync:
        assert device.type == "cuda", "each chunk should first be moved to CUDA"
        current()
        return x
    if device.type == "cuda":
        x = x.to(device)
    return torch.cuda.current_device()


def all_of_it(x, device: torch.device):
    with torch.no_grad():
        assert device.type == "cuda", "each chunk should first be moved to CUDA"
        current()
    return torch.cuda.current_device()
