import tdev
import torch
from typing import Optional


def record(stream: Optional[tdev.cuda.Stream], event: "tdev.cuda.Event | None") -> "torch.Tensor":
    return torch.zeros(1)
