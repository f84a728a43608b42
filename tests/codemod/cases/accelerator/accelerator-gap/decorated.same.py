import unittest

import torch


class Test(unittest.TestCase):
    @unittest.skipIf(not torch.cuda.is_available(), "no GPU")
    def test_properties(self):
        x = torch.zeros(3).cuda()
        self.assertTrue(torch.cuda.get_device_properties(0))
