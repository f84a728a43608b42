import torch
from torch import nn
from torch.nn.modules._functions import SyncBatchNorm as sync_batch_norm


class Slimmable(nn.SyncBatchNorm):
    def forward(self, x):
        if not x.is_cuda:
            raise ValueError("expected the input on a GPU")
        weight, bias = self.sliced()
        if not self.training:
            return nn.functional.batch_norm(x, self.mean, self.var, weight, bias)
        return sync_batch_norm.apply(x, weight, bias, self.mean, self.var, 1e-5, 0.1, None, 2)


class Statistics(nn.Module):
    def forward(self, x):
        assert x.is_cuda
        return torch.batch_norm_stats(x, 1e-5)
