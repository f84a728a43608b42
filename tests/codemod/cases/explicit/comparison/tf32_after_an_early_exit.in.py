import torch


def is_reduced(settings, device):
    if torch.device(device).type != "cuda":
        return False
    return settings.tf32 and settings.dtype == torch.float32


def waits(device):
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize()
