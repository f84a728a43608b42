import torch
from pkg import core

torch.cuda.is_available = lambda: True


def test_asks():
    assert core.ask() is torch.cuda.is_available()
    torch.cuda.synchronize()
