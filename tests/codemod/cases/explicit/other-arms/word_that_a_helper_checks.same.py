import pytest
import torch


class TestMoves:
    def check(self, tensor, device_input):
        assert tensor.device.type == device_input

    @pytest.mark.parametrize("device_from", ["cpu", "cuda"])
    def test_moves(self, device_from):
        if "cuda" in (device_from,) and not torch.cuda.is_available():
            pytest.skip()
        self.check(torch.zeros(3).to(device_from), device_from)
