import torch


def is_hopper(device: torch.device):
    if not torch.cuda.is_available() or device.type != "cuda":
        return False
    return torch.cuda.get_device_capability(device) == (9, 0)
