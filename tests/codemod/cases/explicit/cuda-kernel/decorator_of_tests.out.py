import pytest
import tdev
import torch


def withCUDA(test):
    devices = [pytest.param(torch.device("cpu"), id="cpu")]
    if torch.cuda.is_available():
        devices.append(pytest.param(torch.device("cuda:0"), id="cuda:0"))
    return pytest.mark.parametrize("device", devices)(test)


def onlyCUDA(test):
    return pytest.mark.skipif(not torch.cuda.is_available(), reason="CUDA not available")(test)


def free():
    tdev.cuda.empty_cache()
