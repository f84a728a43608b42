import pytest
import torch
from tests.marks import require_torch_gpu, torch_device


@require_torch_gpu
def test_marked():
    torch.zeros(3, device="cuda")


@pytest.mark.skipif(torch_device != "cuda", reason="no GPU")
def test_skipped():
    torch.zeros(3, device="cuda")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_both(device):
    torch.zeros(3, device=device)
    torch.cuda.synchronize()


def test_matmul_cuda():
    torch.zeros(3, device="cuda")


def test_expects(batch):
    moved = batch.to("cuda")
    assert moved.thing.is_cuda


class TestMoves:
    def test_type(self):
        x = torch.zeros(3).cuda()
        self.assertEqual(x.device.type, "cuda")
