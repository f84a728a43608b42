import tdev
import torch


def is_reduced(settings, device):
    if tdev.device(device).type != "cuda":
        return False
    return settings.tf32 and settings.dtype == torch.float32


def waits(device):
    if tdev.is_accelerator(tdev.device(device).type):
        tdev.cuda.synchronize()
