from typing import Optional

import torch
from torch import Tensor, nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(3))
        self.register_buffer("b", torch.zeros(3))

    def f(self, x: Optional[Tensor], ys: list[Tensor], z):
        a = torch.matmul(z, self.w)
        return self.w.is_cuda, self.b.is_cuda, x.is_cuda, ys[0].is_cuda, a.is_cuda, z.relu().is_cuda, [y.is_cuda for y in ys]
