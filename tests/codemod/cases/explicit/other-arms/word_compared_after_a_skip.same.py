import pytest
import torch


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_device(net_cls, device):
    if device.startswith("cuda") and not torch.cuda.is_available():
        pytest.skip()
    net = net_cls(device=torch.device(device))
    assert net.weight.device.type.startswith(device)
