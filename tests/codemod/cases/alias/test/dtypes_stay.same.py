import unittest
from unittest.mock import Mock, patch

import torch
from pkg import core


class TestMoves(unittest.TestCase):
    @patch("pkg.core.torch.cuda.synchronize")
    def test_takes_a_dtype(self, waits):
        dtype = torch.float16
        model = torch.nn.Linear(1, 1)
        model.to = Mock()
        core.to(model, dtype=dtype)
        self.assertTrue(model.to.call_args[1]["dtype"] == dtype)
        self.assertTrue(torch.float16 == dtype)
