import torch
from testing import least_used_cuda_device


class TestPrior:
    def check(self, cuda=False):
        device = torch.device("cuda") if cuda else torch.device("cpu")
        return torch.zeros(3, device=device)

    def moved(self, x, *, cuda=False):
        if cuda:
            x = x.cuda()
        return x

    def test_on_cuda(self):
        if torch.cuda.is_available():
            with least_used_cuda_device():
                self.check(cuda=True)
