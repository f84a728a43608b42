import torch


def made(shape):
    return torch.randn(shape, device="cuda")


def test_sum(step):
    device = "cuda"
    assert step(made(3).to(device)) == 0
