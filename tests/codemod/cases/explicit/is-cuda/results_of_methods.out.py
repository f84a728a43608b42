from typing import Optional

import tdev
import torch
from torch import Tensor, nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(3))
        self.register_buffer("b", torch.zeros(3))

    def f(self, x: Optional[Tensor], ys: list[Tensor], z):
        a = torch.matmul(z, self.w)
        return (
            tdev.is_accelerator(self.w),
            tdev.is_accelerator(self.b),
            tdev.is_accelerator(x),
            tdev.is_accelerator(ys[0]),
            tdev.is_accelerator(a),
            tdev.is_accelerator(z.relu()),
            [tdev.is_accelerator(y) for y in ys],
        )
