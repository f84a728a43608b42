import torch
from torch import nn

from masks import causal


class Stack(nn.Module):
    def __init__(self, width, device=None, dtype=None):
        super().__init__()
        dd = {"device": device, "dtype": dtype}
        self.table = nn.Embedding(3, width, **dd)
        self.gate = nn.Parameter(torch.empty(width, **dd))
        self.dd = dd
        nn.init.ones_(self.table.weight)
        nn.init.constant_(self.gate, 3.0)

    def embed(self, ids):
        return self.table(ids) * self.gate

    def mask(self, n):
        return causal(n, device=self.dd["device"])

    def tokens(self, n, device):
        return [torch.zeros(n, device=device), torch.ones(n, device=device)][1]
