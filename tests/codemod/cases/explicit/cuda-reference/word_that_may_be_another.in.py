import torch


def solve(n, device=None):
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = torch.zeros(n, device=device, dtype=torch.float64)
    if device == "cuda":
        torch.cuda.synchronize()
    return rows
