import pytest
import tdev
import torch

devices = ["cpu", "cuda"] if tdev.cuda.is_available() else ["cpu"]


@pytest.mark.parametrize("device", devices)
def test_moved(device):
    net = torch.nn.Linear(2, 2).to(device)
    out = net(tdev.ones(3, 2, device=device))
    assert out.device.type == tdev.device(device).type
    assert tdev.device(device).type == net.weight.device.type
    assert net.weight.device.type == out.device.type


def place(x: torch.Tensor, device):
    if x.device.type == device:
        return x
    return x.to(device)
