import torch


def test_count():
    assert torch.cuda.is_available() == (torch.cuda.device_count() > 0)
