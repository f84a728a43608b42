import torch


class Net(torch.nn.Module):
    @property
    def is_cuda(self):
        return next(self.parameters()).is_cuda
