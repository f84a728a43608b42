# ruff: noqa
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import torch
from torch import nn
from torch.optim.lr_scheduler import LRScheduler


class Loss(Protocol):
    def __call__(self, input: torch.Tensor, target: torch.Tensor) -> torch.Tensor: ...


@runtime_checkable
class HasDevice(Protocol):
    @property
    def device(self) -> torch.device: ...


class Backbone(Protocol):
    training: bool

    def parameters(self, recurse: bool = True) -> Iterable[nn.Parameter]: ...
    def state_dict(self) -> Mapping[str, Any]: ...
    def __call__(self, x: torch.Tensor, /) -> torch.Tensor: ...


def fit(
    model: Backbone, loss: Loss, schedule: Callable[[torch.optim.Optimizer], LRScheduler]
) -> None:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    value = loss(model(torch.ones(2, device="cuda")), torch.zeros(2))
    schedule(optimizer).step()
    reveal_type(value.backward)


def where(thing: HasDevice) -> str:
    return thing.device.type if isinstance(thing, HasDevice) else thing


fit(nn.Linear(2, 2), torch.nn.functional.mse_loss, lambda o: torch.optim.lr_scheduler.StepLR(o, 1))
fit(nn.Linear(2, 2), nn.CrossEntropyLoss(), torch.optim.lr_scheduler.StepLR)
fit(torch.relu, torch.dist, None)
where(torch.ones(2, device="cuda"))
where(torch.cuda.Event())
where(torch.Generator("cuda"))
