import torch


def _is_first(device: torch.device) -> bool:
    return device.index == 0


def _fill(buffer, device="cuda"):
    return torch.zeros(buffer, device=device)


def buffer(device: torch.device, size: int):
    if _is_first(device):
        return _fill(size)
    return torch.zeros(size)


def pick():
    return torch.device("mps") if torch.backends.mps.is_available() else torch.device("cpu")
