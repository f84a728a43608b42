import unittest

import pytest
import torch


@pytest.mark.parametrize("device", ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"])
def test_all_are_moved(device):
    net = torch.nn.Linear(2, 2).to(device)
    assert all(p.device.type == device for p in net.parameters())
    assert all([device == p.device.type for p in net.buffers()]), net
    assert not any(p.device.type == device for p in net.buffers())
    assert str(net.weight.device) == device


class TestMoved(unittest.TestCase):
    def check(self, device):
        net = torch.nn.Linear(2, 2).to(device)
        self.assertEqual(net.weight.device.type, device)
        self.assertTrue(net.bias.device.type == device, "moved")

    def test_cpu(self):
        self.check("cpu")

    @unittest.skipIf(not torch.cuda.is_available(), "no GPU")
    def test_gpu(self):
        self.check("cuda")
