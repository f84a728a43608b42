import tdev
import torch

device = "cuda" if tdev.cuda.is_available() else "cpu"


def test_sums(layer):
    x = layer(tdev.ones(3, device=device))
    assert x.cpu().double().sum() == 3
    assert x.sum().dtype != torch.float64


def test_mean():
    assert torch.ones(3, dtype=torch.float64).mean() == 1
