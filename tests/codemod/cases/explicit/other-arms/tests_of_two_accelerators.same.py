import os
import unittest
import numpy as np
import torch


class TestBoxes(unittest.TestCase):
    def _run(self, device):
        mask = torch.as_tensor(np.zeros((4, 4)), dtype=torch.bool, device=device)
        self.assertEqual(mask.sum(), 0)

    def test_cpu_boxes(self):
        self._run("cpu")

    @unittest.skipIf(not torch.cuda.is_available(), "CUDA Pytorch is not available")
    def test_cuda_boxes(self):
        self._run("cuda")

    @unittest.skipIf(not torch.backends.mps.is_available() or os.getenv("GITHUB_ACTIONS") == "true", "fails on a runner")
    def test_mps_boxes(self):
        self._run("mps")
