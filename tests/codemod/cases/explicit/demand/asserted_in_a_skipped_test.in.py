import pytest
import torch


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_moves(net):
    x = torch.ones(3).cuda()
    assert net(x).is_cuda
    assert x.is_cuda
