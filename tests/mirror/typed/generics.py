# ruff: noqa
from collections import OrderedDict
from typing import Any, Generic, TypeVar

import torch
from torch import nn
from torch.nn import functional as F

M = TypeVar("M", bound=nn.Module)
In = TypeVar("In")
REGISTRY: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "linear": nn.Linear}


def make(kind: type[M], *args: Any, device: torch.device | str | None = None) -> M:
    return kind(*args).to(device=device)


class Ema(nn.Module, Generic[M]):
    def __init__(self, model: M, decay: float = 0.999) -> None:
        super().__init__()
        self.model = model
        self.decay = decay

    @torch.no_grad()
    def update(self, other: M) -> None:
        for ours, theirs in zip(self.model.parameters(), other.parameters()):
            ours.lerp_(theirs, 1 - self.decay)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)


class Pipeline(Generic[In]):
    stages: list[nn.Module] = nn.ModuleList([nn.Linear(2, 2)])

    def run(self, value: In) -> In:
        return value


reveal_type(make(nn.Linear, 2, 3, device="cuda"))
reveal_type(Ema(nn.Conv2d(1, 1, 1)).model)
reveal_type(Ema(nn.Linear(1, 1)).update)
reveal_type(REGISTRY["relu"])
reveal_type(nn.Sequential(OrderedDict(a=nn.ReLU()))[0])
reveal_type(nn.ModuleDict({"a": nn.ReLU()})["a"])
reveal_type(nn.ParameterList([torch.ones(1)])[0])
reveal_type([m for m in nn.Linear(1, 1).modules() if isinstance(m, (nn.Linear, nn.Conv2d))])
Ema(torch.ones(2))
make(torch.Tensor, 2)
Ema(nn.ReLU()).update(nn.Linear(1, 1))
reveal_type(F.one_hot(torch.ones(2), num_classes="3"))
