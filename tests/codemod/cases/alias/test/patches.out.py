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


@mock.patch("pkg.core.torch.cuda.synchronize")
def test_waits(waits, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    core.wait()
    assert waits.called
    with mock.patch.object(torch.cuda, "device_count", return_value=torch.cuda.device_count() + 1):
        assert core.count() == torch.cuda.device_count()


@mock.patch("pkg.core.torch.load")
def test_loads(loaded, monkeypatch):
    monkeypatch.setattr(tdev.distributed, "init_process_group", print)
    core.start()
    assert loaded.called and tdev.load is loaded and torch.cuda.device_count() < 9


def test_by_hand():
    old = tdev.load
    tdev.load = lambda path: 1
    try:
        assert core.loaded() == tdev.load("x") == 1
    finally:
        tdev.load = old
