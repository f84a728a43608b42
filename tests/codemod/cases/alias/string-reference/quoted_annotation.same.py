from typing import Literal, Optional

import torch


def f(s: "torch.cuda.Stream", e: Optional["torch.cuda.Event"] = None, k: Literal["torch.cuda.x"] = "torch.cuda.x") -> "torch.Tensor":
    return torch.ones(1)
