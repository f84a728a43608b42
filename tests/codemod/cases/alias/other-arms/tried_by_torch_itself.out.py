import tdev
import torch


def check_device(device):
    try:
        torch.randn(1, device=device)
    except (RuntimeError, AssertionError) as exc:
        raise RuntimeError(f"no {device}") from exc


def make(n):
    return tdev.zeros(n, device="cuda")
