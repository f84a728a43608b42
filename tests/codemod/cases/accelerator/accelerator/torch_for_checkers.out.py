from typing import TYPE_CHECKING

import torch as th

if TYPE_CHECKING:
    import torch


def moved(x: "torch.Tensor") -> "torch.Tensor":
    device = th.accelerator.current_accelerator()
    return x.to(device) + th.zeros(2, device=device)
