import unittest

import torch
from checks import _is_hopper, is_MI300

KERNELS = torch.cuda.is_available() and is_MI300()


class Test(unittest.TestCase):
    @unittest.skipUnless(_is_hopper(), "Requires Hopper GPU")
    def test_patch(self):
        return torch.zeros(3, device="cuda")


class Engine:
    def __init__(self, workers=None):
        self.workers = workers or torch.cuda.device_count() or 1

    def start(self, setup):
        setup(**{"backend": "nccl"})
