import torch


def select_device(device=""):
    mps = device == "mps"
    if not mps and torch.cuda.is_available():
        arg = "cuda:0"
    elif mps and torch.backends.mps.is_available():
        arg = "mps"
    else:
        arg = "cpu"
    return torch.device(arg)
