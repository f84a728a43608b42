import torch
from pkg import core

torch.load = lambda path: True


def test_asks():
    assert core.read() is torch.load("x")
    torch.cuda.synchronize()
