import unittest

import pytest
import torch

KINDS = ["cuda"] if torch.cuda.is_available() else []
SINGLE = ["cpu", "cuda"] if torch.cuda.is_available() else ["cpu"]


class TestFit(unittest.TestCase):
    def test_fit(self, device=None, cuda=False):
        x = torch.ones(4, dtype=torch.double).to(device)
        kind = torch.device("cuda" if cuda else "cpu")
        self.assertEqual(x.sum(), 4, kind)

    def test_fit_on_a_gpu(self):
        if torch.cuda.is_available():
            self.test_fit(device=torch.device("cuda"), cuda=True)

    def test_single(self, cuda=False):
        self.assertEqual(torch.ones(4, device="cuda" if cuda else "cpu").sum(), 4)

    def test_single_on_a_gpu(self):
        if not torch.cuda.is_available():
            self.skipTest("no GPU")
        self.test_single(cuda=True)


def exact(x):
    return torch.linalg.inv(x.to(torch.float64))


@pytest.fixture(params=KINDS)
def place(request):
    return request.param


def test_exact(place):
    assert exact(torch.eye(2).to(place)).shape == (2, 2)


@pytest.mark.parametrize("place", SINGLE)
def test_inverse(place):
    x = torch.eye(2, device=place)
    assert torch.linalg.inv(x).cpu().double().shape == (2, 2)
