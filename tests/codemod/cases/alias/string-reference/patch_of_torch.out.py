from unittest.mock import patch

import tdev as torch


def test_activation(monkeypatch, mocker):
    monkeypatch.setattr(torch, "sigmoid", lambda x: x)
    with patch("tdev.compile"), patch("torch.linalg.pinv"), patch("torch.Tensor.backward"):
        pass
    with patch("torch.zeros"), patch("torch.ones"), patch("trainer.torch.zeros"):
        pass
