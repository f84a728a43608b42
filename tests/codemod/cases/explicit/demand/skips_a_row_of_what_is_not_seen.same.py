"""Nobody sees what ``mix`` gives, so its type is compared with the word as before: on CUDA alone that is its name."""

import pytest
import torch
from mixing import Mixture


@pytest.mark.parametrize(
    "device",
    [
        "cpu",
        pytest.param(
            "cuda",
            marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA"),
        ),
    ],
)
def test_mixes_on(device):
    mixture = Mixture(8)
    mixture.to(device)
    mixed = mixture.mix(torch.randn(8, 5, device=device))
    assert mixed.device.type == device
