import tdev
import torch
from pkg import core

tdev.cuda.is_available = lambda: True


def test_asks():
    assert core.ask() is tdev.cuda.is_available()
    torch.cuda.synchronize()
