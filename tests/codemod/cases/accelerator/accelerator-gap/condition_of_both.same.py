import unittest

import torch


class Test(unittest.TestCase):
    @unittest.skipUnless(torch.cuda.is_available() and ok(torch.device("cuda")), "no CUDA")
    def test_ok(self):
        pass
