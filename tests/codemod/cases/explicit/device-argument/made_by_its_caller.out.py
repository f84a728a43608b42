import tdev
import torch


def _inputs(n, device):
    return torch.randint(0, 5, (n,), device=device)


def main():
    device = tdev.device("cuda:0")
    return _inputs(3, device)
