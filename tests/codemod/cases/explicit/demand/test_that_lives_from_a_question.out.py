import tdev
import torch


class TestOptimizer:
    def _test_state(self, weight, x, make):
        def fn(optimizer, weight):
            i = x_there if weight.is_cuda else x
            loss = (weight @ i).sum()
            loss.backward()
            return loss

        optimizer = make(weight)
        optimizer.step(lambda: fn(optimizer, weight))
        if not torch.cuda.is_available():
            return
        x_there = x.float().cuda()
        there = weight.float().cuda()
        other = make(there)
        other.step(lambda: fn(other, there))

    def test_other(self, make):
        if not tdev.cuda.is_available():
            return
        make(torch.ones(3).cuda()).step()
