"""What a device is called is what is tried: another one's name would be another's."""

import pytest
import torch
from spelling import spelled


@pytest.mark.parametrize(
    "given, expected",
    [
        ("cuda:1", "cuda:1"),
        (torch.device("cuda", 1), "cuda:1"),
        pytest.param(torch.device("cuda"), "cuda", id="no number"),
        (torch.device("cuda"), 4),
        (torch.device("cpu"), "cpu"),
    ],
)
def test_names(given, expected):
    assert spelled(given) == expected


@pytest.mark.parametrize("device", ["cuda", torch.device("cuda")])
def test_makes(device):
    assert torch.zeros(3, device=device).sum() == 0
