from unittest import mock

import torch

import toolbox


def test_seed(monkeypatch):
    monkeypatch.setattr(torch, "randn", lambda *size, **kwargs: torch.ones(*size))
    monkeypatch.setattr(torch.linalg, 'vector_norm', len)
    with mock.patch.object(torch, "arange", return_value=None), mock.patch.object(torch, name="full"):
        assert toolbox.noise(torch.zeros(3, device="cuda")) is not None
    monkeypatch.delattr(torch, "empty")
    setattr(torch, "eye", toolbox.eye)
