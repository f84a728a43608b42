import pytest
import torch

from .made import run


@pytest.mark.parametrize(
    "device",
    [
        pytest.param(
            "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")
        ),
        pytest.param(
            "mps",
            marks=pytest.mark.skipif(not torch.backends.mps.is_available(), reason="no MPS"),
        ),
    ],
)
def test_runs(device):
    assert run(torch.zeros(3, device=device), device=device) is not None
