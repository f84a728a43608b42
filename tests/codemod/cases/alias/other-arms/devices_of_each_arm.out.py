import tdev
import torch


class Serial:
    def device(self) -> torch.device:
        if tdev.cuda.is_available():
            return tdev.device("cuda")
        if torch.backends.mps.is_available():
            return torch.device("mps")
        return torch.device("cpu")


def numbered(index):
    if torch.backends.mps.is_available():
        device = torch.device("mps")
    elif index >= 0 and tdev.cuda.is_available():
        device = tdev.device(f"cuda:{index}")
    else:
        device = torch.device("cpu")
    return device


device = tdev.device("cuda" if tdev.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")


def name():
    if tdev.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def tuned():
    if torch.cuda.is_available():
        torch.backends.cudnn.benchmark = True
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def precision(x):
    if torch.cuda.is_available():
        return torch.device("cuda")
    elif torch.backends.mps.is_available():
        x.half()
        return torch.device("mps")
    return torch.device("cpu")
