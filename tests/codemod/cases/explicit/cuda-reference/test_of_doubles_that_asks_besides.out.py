import tdev
import torch

device = tdev.device("cuda" if tdev.cuda.is_available() else "cpu")
HAS_GPU = tdev.cuda.is_available()


def test_sums():
    assert torch.zeros(3, device=device).double().sum() == 0


def test_adds():
    total = torch.zeros(3, device=device)
    step = torch.ones(3)
    if tdev.cuda.is_available():
        step = step.cuda()
    assert (total + step).sum() == 3


def test_scales():
    factor = torch.ones(3)
    if HAS_GPU:
        factor = factor.cuda()
    assert (torch.ones(3, device=device) * factor).sum() == 3
