import tdev
import torch
from weights import engine


def start(device):
    device = torch.device(device)
    if device.type != "cuda":
        raise NotImplementedError(
            f"the engine's transfer needs a CUDA device, got '{device}'"
        )
    if device.index is not None:
        torch.cuda.set_device(device)
    return engine(device)


def free():
    tdev.cuda.empty_cache()
