import unittest

import pytest
import torch

from segment import choose, segment

HAVE_CUDA = torch.cuda.is_available()
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="slow")


class TestSegment(unittest.TestCase):
    def tearDown(self):
        if choose() == "mps":
            torch.mps.empty_cache()

    def check(self, shape):
        self.assertGreater(segment(torch.rand(shape)).max(), 0)

    @unittest.skipUnless(HAVE_CUDA, "long without a GPU")
    def test_volume(self):
        self.check((8, 64, 64))

    @needs_gpu
    def test_tiled(self):
        self.check((64, 1024, 1024))


class TestMoved(unittest.TestCase):
    def setUp(self):
        self.x = torch.rand(4, device="cuda" if torch.cuda.is_available() else "cpu")

    @unittest.skipIf(not torch.cuda.is_available(), "long without a GPU")
    def test_moved(self):
        self.assertGreater(self.x.max(), 0)


@pytest.mark.parametrize("kind", ["cpu", "cuda"])
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_kinds(kind):
    assert torch.rand(4, device=kind).max() > 0


def place(x):
    return x.cuda()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_placed():
    assert place(torch.rand(4)).max() > 0


@pytest.mark.skipif(not torch.cuda.is_available(), reason="long without a GPU")
def test_trained():
    assert segment(torch.rand(4), num_devices=1, on="cpu" if torch.mps.is_available() else "auto")
