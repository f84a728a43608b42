import torch


def check(detector, device):
    if torch.device(device).type != detector.device:
        raise RuntimeError(f"{detector.device} is not {device}")
    return detector.device == torch.device(device).type
