import torch


def select_device(device, batch):
    mps = device == "mps"
    if device and not mps:
        assert torch.cuda.is_available() and torch.cuda.device_count() > int(device)
    print(batch)
    if not mps and torch.cuda.is_available():
        return torch.device("cuda:0")
    elif mps and torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def count():
    return torch.cuda.device_count() if torch.cuda.is_available() else 0
