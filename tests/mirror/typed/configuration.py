# ruff: noqa
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypedDict

import torch
from torch import Tensor as T


class Batch(TypedDict, total=False):
    inputs: torch.Tensor
    mask: T | None


class Result(NamedTuple):
    loss: T
    size: torch.Size
    dtype: torch.dtype = torch.float32


@dataclass(frozen=True)
class Config:
    device: torch.device = field(default_factory=lambda: torch.device("cuda"))
    dtype: torch.dtype = torch.bfloat16
    layout: torch.layout = torch.strided
    optimizer: type[torch.optim.Optimizer] = torch.optim.AdamW
    activation: type[torch.nn.Module] = torch.nn.GELU
    seed: int | torch.Generator | None = None
    mode: Literal["default", "max-autotune"] = "default"
    extra: dict[str, Any] = field(default_factory=dict)


def step(config: Config, batch: Batch) -> Result:
    x = batch["inputs"].to(config.device, config.dtype)
    if (mask := batch.get("mask")) is not None:
        x = x.masked_fill(mask.logical_not(), 0)
    reveal_type(config.activation())
    return Result(config.activation()(x).mean(), x.shape)


config = replace(Config(), device="cuda")
reveal_type(Config().optimizer)
reveal_type(step(Config(), {"inputs": torch.ones(2), "mask": None}))
step(Config(dtype="float16"), Batch(inputs=[1.0], labels=torch.ones(2)))
for part in Result(torch.ones(1), torch.Size([1])):
    reveal_type(part)
