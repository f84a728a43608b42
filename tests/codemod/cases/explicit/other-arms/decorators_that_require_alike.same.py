import unittest

import torch


def require_one_gpu(test):
    """Skip a test unless there is one GPU; the test requires CUDA."""
    return unittest.skipUnless(torch.cuda.device_count() == 1, "needs one GPU")(test)


def require_several_gpus(test):
    """Skip a test unless there are several GPUs."""
    return unittest.skipUnless(torch.cuda.device_count() > 1, "needs several GPUs")(test)
