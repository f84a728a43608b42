import tdev
import torch


def map_location(device: str):
    if "cuda" in device:
        _, index = device.split(":")
        return lambda storage, loc: storage.cuda(int(index))
    if "cpu" in device:
        return "cpu"
    raise ValueError(f"invalid device={device}")


def elected(device: str):
    if "cuda" in device:
        return tdev.zeros(3, device=device)
    elif "cpu" in device:
        return torch.ones(3, device=device)
    else:
        raise ValueError(f"invalid device={device}")


def agree(device: str, gpus):
    if gpus and device != "cuda":
        raise ValueError(f"with GPUs, the device must be set to 'cuda'. Found {device}")
    return tdev.zeros(3, device=device)


def built(name, dtype):
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        device, dtype = torch.device("cpu"), torch.float32
    return torch.zeros(3, device=device, dtype=dtype)


def fused(device):
    return torch.device(device).type == "cuda" and torch.accelerator.is_available()
