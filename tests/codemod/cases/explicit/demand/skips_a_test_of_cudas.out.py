import unittest

import pytest
import tdev
import torch


@pytest.mark.skipif(not torch.cuda.is_available(), reason="requires CUDA to run")
def test_flash_is_faster():
    x = torch.zeros(3, device="cuda")
    assert x.sum() == 0


@pytest.mark.skipif(not tdev.cuda.is_available(), reason="requires CUDA to run")
def test_plain():
    x = tdev.zeros(3, device="cuda")
    assert x.sum() == 0


class TestServer(unittest.TestCase):
    if torch.cuda.is_available():

        def test_moves(self):
            x = torch.zeros(3, device="cuda")
            self.assertEqual(x.device.type, "cuda")
