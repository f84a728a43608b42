import torch
from typing import Optional


def record(stream: Optional[torch.cuda.Stream], event: "torch.cuda.Event | None") -> "torch.Tensor":
    return torch.zeros(1, device="cuda")
