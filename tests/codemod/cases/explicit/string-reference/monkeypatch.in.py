import torch

def test_two(monkeypatch, mocker):
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    mocker.patch("torch.cuda.synchronize")
    mocker.patch("pkg.train.torch.cuda.synchronize")
    assert torch.ones(1) is not None
