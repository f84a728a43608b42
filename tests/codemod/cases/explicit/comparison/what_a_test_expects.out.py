import unittest

import tdev
import torch


class TestMoves(unittest.TestCase):
    def test_moved(self):
        net = torch.nn.Linear(2, 2).to(tdev.device("cuda:0"))
        self.assertEqual(str(net.weight.device), str(tdev.device("cuda:0")))
        self.assertEqual(tdev.device("cuda").type, net.weight.device.type)
        self.assertEqual(net.weight.device.type, "cpu")

    def test_word(self, word):
        self.assertEqual(str(word), "cuda:0")
        self.assertEqual(self.options.device, "cuda:0")


def test_made():
    if tdev.cuda.is_available():
        net = torch.nn.Linear(2, 2).to(tdev.device("cuda:0"))
        assert str(next(net.parameters()).device) == str(tdev.device("cuda:0"))
        assert net.bias is not None and str(net.bias.device) == str(
            tdev.device("cuda:0")
        )
        if str(net.weight.device) == "cuda:0":
            print("first")
