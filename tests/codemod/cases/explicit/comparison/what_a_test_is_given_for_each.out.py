import unittest

import pytest
import tdev
import torch


@pytest.mark.parametrize("device", ["cpu", "cuda"] if tdev.cuda.is_available() else ["cpu"])
def test_all_are_moved(device):
    net = torch.nn.Linear(2, 2).to(device)
    assert all(p.device.type == tdev.device(device).type for p in net.parameters())
    assert all([tdev.device(device).type == p.device.type for p in net.buffers()]), net
    assert not any(p.device.type == device for p in net.buffers())
    assert str(net.weight.device) == str(tdev.device(device))


class TestMoved(unittest.TestCase):
    def check(self, device):
        net = torch.nn.Linear(2, 2).to(device)
        self.assertEqual(net.weight.device.type, tdev.device(device).type)
        self.assertTrue(net.bias.device.type == tdev.device(device).type, "moved")

    def test_cpu(self):
        self.check("cpu")

    @unittest.skipIf(not tdev.cuda.is_available(), "no GPU")
    def test_gpu(self):
        self.check("cuda")
