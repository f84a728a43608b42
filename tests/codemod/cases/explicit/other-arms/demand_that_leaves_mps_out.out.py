import tdev
import torch


def offload(x: torch.Tensor, device: torch.device):
    if device.type != "cuda":
        raise RuntimeError("offload should only be used when training on CUDA")
    return x.to(device) * 2


def report():
    tdev.cuda.empty_cache()


def pick():
    return torch.device("mps") if torch.backends.mps.is_available() else torch.device("cpu")
