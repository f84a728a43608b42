from typing import TYPE_CHECKING

import torch as th

if TYPE_CHECKING:
    import torch


def moved(x: "torch.Tensor") -> "torch.Tensor":
    return x.cuda() + th.zeros(2, device="cuda")
