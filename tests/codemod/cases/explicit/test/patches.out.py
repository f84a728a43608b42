from unittest import mock

import pytest
import tdev
import torch
from pkg import core


@pytest.fixture(params=["cpu", "cuda:0"])
def device(request):
    """Skips what "cuda" has not."""
    if request.param.startswith("cuda") and not torch.cuda.is_available():
        pytest.skip("needs CUDA")
    return torch.device(request.param)


def test_moves(device):
    x = core.move(torch.ones(3, device=device))
    assert x.is_cuda == (device.type == "cuda")


@mock.patch("tdev.cuda.synchronize")
def test_waits(waits, monkeypatch):
    monkeypatch.setattr(tdev.cuda, "is_available", lambda: True)
    core.wait()
    assert waits.called
    with mock.patch.object(tdev.cuda, "device_count", return_value=tdev.cuda.device_count() + 1):
        assert core.count() == tdev.cuda.device_count()


def test_by_hand():
    old = tdev.cuda.current_device
    tdev.cuda.current_device = lambda: 1
    try:
        assert core.current() == tdev.cuda.current_device() == 1
    finally:
        tdev.cuda.current_device = old
