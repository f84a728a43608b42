import tdev
import torch

def test_two(monkeypatch, mocker):
    monkeypatch.setattr("tdev.cuda.device_count", lambda: 2)
    monkeypatch.setattr(tdev.cuda, "is_available", lambda: True)
    mocker.patch("tdev.cuda.synchronize")
    mocker.patch("tdev.cuda.synchronize")
    assert torch.ones(1) is not None
