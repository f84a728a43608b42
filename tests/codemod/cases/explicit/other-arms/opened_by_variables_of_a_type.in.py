import torch


def setup(device: torch.device, several):
    use_cuda = device.type.startswith("cuda")
    use_several = use_cuda and several
    if use_several and torch.cuda.device_count() > 1:
        device = f"cuda:{torch.cuda.current_device()}"
    return device


def pick():
    return torch.device("mps") if torch.backends.mps.is_available() else torch.device("cpu")


def free():
    torch.cuda.empty_cache()
