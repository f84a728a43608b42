import pytest
import torch

from pkg.backend import Backend


def _has_cuda() -> bool:
    return torch.cuda.is_available()


def _has_mps() -> bool:
    return torch.backends.mps.is_available()


needs_cuda = pytest.mark.skipif(not _has_cuda(), reason="no GPU")


@pytest.mark.skipif(not (_has_cuda() or _has_mps()), reason="neither")
def test_any():
    assert Backend() is not None


@pytest.mark.skipif(not _has_cuda(), reason="CUDA not available")
def test_half():
    assert Backend(torch.nn.Linear(2, 2).cuda(), half=True).half


@needs_cuda
def test_on():
    assert torch.zeros(3, device="cuda").sum() == 0
