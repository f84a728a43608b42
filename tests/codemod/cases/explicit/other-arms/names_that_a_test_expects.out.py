"""What a device is called is what is tried: another one's name would be another's."""

import pytest
import tdev
import torch
from spelling import spelled


@pytest.mark.parametrize(
    "given, expected",
    [
        ("cuda:1", "cuda:1"),
        (torch.device("cuda", 1), "cuda:1"),
        pytest.param(torch.device("cuda"), "cuda", id="no number"),
        (tdev.device("cuda"), 4),
        (torch.device("cpu"), "cpu"),
    ],
)
def test_names(given, expected):
    assert spelled(given) == expected


@pytest.mark.parametrize("device", ["cuda", tdev.device("cuda")])
def test_makes(device):
    assert tdev.zeros(3, device=device).sum() == 0
