import pytest
import torch


def withCUDA(func):
    """Test on the CPU and on CUDA, if that is there."""
    devices = [pytest.param(torch.device("cpu"), id="cpu")]
    if torch.cuda.is_available():
        devices.append(pytest.param(torch.device("cuda:0"), id="cuda:0"))
    return pytest.mark.parametrize("device", devices)(func)


def onlyCUDA(func):
    """Skip a test where there is no CUDA."""
    return pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA not available")(func)


def move(x):
    return x.to(torch.device("cuda"))
