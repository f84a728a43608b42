import pytest
import torch
from lab.timing import filtered


@pytest.mark.requires_cuda
@pytest.mark.parametrize("width", [3, 5])
def test_on_cuda(width):
    x = torch.randn(2, 8)
    assert filtered(x.cuda(), width).cpu().equal(filtered(x, width))
