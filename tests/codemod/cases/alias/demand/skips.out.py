import pytest
import tdev
import torch
from mine import op


@pytest.mark.skipif(not torch.cuda.is_available(), reason="requires CUDA")
def test_op():
    op(torch.ones(2).cuda())


@pytest.mark.skipif(not tdev.cuda.is_available(), reason="requires CUDA")
def test_torch():
    assert torch.ones(2).cuda().sum() == 2
