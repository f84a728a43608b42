import torch
from unittest.mock import patch


def canonical(word):
    if word == "mps" and torch.backends.mps.is_available():
        return "mps:0"
    return word


def test_cuda(monkeypatch, canonical=canonical):
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 3)
    assert canonical("cuda") == "cuda:3"


@patch("torch.cuda.current_device", lambda: 2)
def test_another():
    assert canonical("cuda") == "cuda:2"


def test_synchronized(monkeypatch, run):
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    assert run() == 3
