import tdev
import torch


def select_device(device, batch):
    mps = device == "mps"
    if device and not mps:
        assert torch.cuda.is_available() and torch.cuda.device_count() > int(device)
    print(batch)
    if not mps and torch.cuda.is_available():
        return "cuda:0"
    elif mps and torch.backends.mps.is_available():
        return "mps"
    return "cpu"


def count():
    return tdev.cuda.device_count() if tdev.cuda.is_available() else 0
