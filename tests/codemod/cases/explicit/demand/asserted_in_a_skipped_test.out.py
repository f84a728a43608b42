import pytest
import tdev
import torch


@pytest.mark.skipif(not tdev.cuda.is_available(), reason="needs a GPU")
def test_moves(net):
    x = torch.ones(3).cuda()
    assert tdev.answers_cuda(net(x))
    assert tdev.answers_cuda(x)
