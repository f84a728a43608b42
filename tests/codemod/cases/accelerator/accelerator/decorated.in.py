import unittest

import torch


class Test(unittest.TestCase):
    @unittest.skipIf(not torch.cuda.is_available(), "no GPU")
    def test_zeros(self):
        self.assertEqual(torch.zeros(3, device="cuda").sum(), 0)
