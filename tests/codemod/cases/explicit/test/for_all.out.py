import tdev
import torch
from pkg import core

tdev.load = lambda path: True


def test_asks():
    assert core.read() is tdev.load("x")
    torch.cuda.synchronize()
