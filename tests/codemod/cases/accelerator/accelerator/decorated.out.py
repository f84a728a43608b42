import unittest

import torch


class Test(unittest.TestCase):
    @unittest.skipIf(not torch.accelerator.is_available(), "no GPU")
    def test_zeros(self):
        device = torch.accelerator.current_accelerator()
        self.assertEqual(torch.zeros(3, device=device).sum(), 0)
