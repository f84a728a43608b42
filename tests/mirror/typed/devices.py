# ruff: noqa
from typing import Optional

import torch
from torch import device


def pick(index: Optional[int] = None) -> torch.device:
    if torch.cuda.is_available():
        return torch.device("cuda", 0 if index is None else index)
    return torch.device("cpu")


def place(x: torch.Tensor, where: device | str) -> torch.Tensor:
    if isinstance(where, torch.device) and where.type == "cuda":
        torch.cuda.synchronize(where)
    return x.to(where, non_blocking=True)


reveal_type(pick())
reveal_type(torch.cuda.get_device_properties(0))
torch.device(1.5)
place(pick(), "cuda")
