import pytest
import tdev
import torch

import lib

devices = [cpu, gpu] = [torch.device("cpu"), torch.device("cuda")]
OTHER = tdev.device("cuda")


@pytest.mark.parametrize("device", devices)
def test_first(device):
    if device == gpu and not torch.cuda.is_available():
        pytest.skip("CUDA not available.")
    assert lib.run(torch.ones(3, device=device))


def test_second():
    assert lib.run(torch.ones(3, device=OTHER))
