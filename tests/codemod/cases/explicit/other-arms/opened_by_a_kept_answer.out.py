import tdev
import torch


def _is_cuda(device: torch.device) -> bool:
    return device.type == "cuda" and torch.cuda.is_available()


def peak(device: torch.device) -> int:
    if _is_cuda(device):
        return torch.cuda.max_memory_allocated(device)
    return 0


def pick():
    return torch.device("mps") if torch.backends.mps.is_available() else torch.device("cpu")


def reset():
    tdev.cuda.reset_peak_memory_stats()
