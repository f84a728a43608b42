from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

try:
    import torch as _t
except ImportError:
    _t = None


def same(x: torch.Tensor, device: torch.device) -> bool:
    return x.device == device and "cuda" in str(device)


def seed():
    _t.cuda.manual_seed_all(1)


seed()
answer = same(_t.ones(1), _t.ones(1).device)
