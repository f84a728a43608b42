import tdev
import torch


def resolve(device):
    if device is None:
        device = "cuda" if tdev.cuda.is_available() else "cpu"
    resolved = torch.device(device)
    if resolved.type == "cuda" and not tdev.cuda.is_available():
        raise RuntimeError("CUDA was requested, but no CUDA device is available.")
    return tdev.device(resolved)


def kept(self, device):
    resolved = torch.device(device)
    if resolved.type == "cuda" and not torch.cuda.is_available():
        resolved = torch.device("cpu")
    self.device = resolved
    return resolved


def told(device):
    resolved = torch.device(device)
    if resolved.type == "cuda" and not tdev.cuda.is_available():
        print(f"there is no {resolved}", resolved)
        return torch.device("cpu")
    return tdev.device(resolved)
