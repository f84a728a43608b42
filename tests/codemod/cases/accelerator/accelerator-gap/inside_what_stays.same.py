import torch


def where(device):
    if device == "cuda":
        device = f"cuda:{torch.cuda.current_device()}"
    return device


def limits():
    p = torch.cuda.get_device_properties(torch.cuda.current_device())
    n = torch.cuda.device_count() if torch.cuda.is_initialized() else 0
    return p, n, torch.cuda.current_device()
