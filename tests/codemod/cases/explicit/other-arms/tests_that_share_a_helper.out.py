import unittest

import tdev
import torch

from boxes import choose


class TestBoxes(unittest.TestCase):
    def _sum(self, device):
        self.assertEqual(torch.zeros(4, device=device).sum(), 0)

    def _mean(self, device):
        self.assertEqual(tdev.zeros(4, device=device).mean(), 0)

    def test_sum(self):
        self._sum(device="cpu")

    @unittest.skipIf(not torch.cuda.is_available(), "no CUDA")
    def test_cuda_sum(self):
        self._sum(device="cuda")
        self._mean(device="cuda")

    @unittest.skipIf(not torch.backends.mps.is_available(), "no MPS")
    def test_mps_sum(self):
        self._sum(device="mps")
        self._mean(device="mps")

    def test_mean(self):
        self._mean(device=choose())
