import pytest
import torch


@pytest.mark.parametrize("source", ["cpu", "cuda"])
def test_both(x, source, target):
    if "cuda" in (source, target) and not torch.cuda.is_available():
        pytest.skip()
    x = x.new_zeros(3)
    assert x.device.type == source


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_one(net, device):
    if device.startswith("cuda") and not torch.cuda.is_available():
        pytest.skip()
    assert net.weight.device.type.startswith(device)
