import pytest
import torch

from elsewhere import fused

skip_if_no_gpu = pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.device_count() < 2, reason="CUDA required"
)


@skip_if_no_gpu
def test_fused():
    assert fused(torch.zeros(3, device="cuda:1")).sum() == 0
