import unittest

import torch


def require_torch_gpu(test_case):
    """Mark a test that requires CUDA."""
    kind = "cuda" if torch.cuda.is_available() else "cpu"
    return unittest.skipUnless(kind == "cuda", "test requires CUDA")(test_case)
