import pytest
import torch


def test_pickles(net, precision):
    if precision != "no" and not torch.cuda.is_available():
        pytest.skip("the device does not support it")
    net(precision)


def test_moves(net):
    if not torch.cuda.is_available():
        pytest.skip("the device does not support it")
    net.cuda()
