import tdev
import torch


def solve(n, device=None):
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = tdev.zeros(n, device=device, dtype=torch.float64)
    if tdev.is_accelerator(device, exact=True):
        tdev.cuda.synchronize()
    return rows
