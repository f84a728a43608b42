import unittest

import torch
from torch.cuda.amp import autocast


class TestStep(unittest.TestCase):
    @unittest.skipUnless(torch.cuda.is_available(), "ein Gerät")
    def test_step(self):
        größe = 3; x = torch.zeros(größe).cuda()
        with autocast():
            y = x * 2
        self.assertEqual(y.device.type, "cuda")
        self.assertEqual(torch.load("x.pt", map_location=f"cuda:{0}").device, y.device)
