# ruff: noqa
# Imports that only the checker sees, names under their own names, and what inference must find out.
from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard, cast

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parameter import Parameter

if TYPE_CHECKING:
    from torch import FloatTensor, LongTensor
    from torch.cuda import Event, Stream
    from torch.distributed.device_mesh import DeviceMesh
    from torch.types import Device, Number
    from torch.utils.hooks import RemovableHandle

Weights: TypeAlias = "dict[str, torch.Tensor | Parameter]"


def is_floating(x: torch.Tensor) -> TypeGuard[FloatTensor]:
    return x.is_floating_point()


class Overlap:
    def __init__(self, stream: Stream | None = None, mesh: DeviceMesh | None = None) -> None:
        self.stream = stream or torch.cuda.current_stream()
        self.done: Event = self.stream.record_event()
        self.group = mesh.get_group() if mesh else dist.group.WORLD
        self.handles: list[RemovableHandle] = []

    def watch(self, model: nn.Module, to: Device = None) -> Weights:
        self.handles.append(model.register_forward_hook(lambda module, args, output: None))
        self.handles.append(model.register_forward_hook(lambda module: None))
        return {name: p.to(to) if to else p for name, p in model.named_parameters()}


def summarise(x: torch.Tensor | nn.Module | torch.Size | torch.device | None) -> Number | str:
    match x:
        case torch.Tensor():
            reveal_type(x)
            return x.item()
        case torch.Size():
            return x.numel()
        case torch.device(type="cuda"):
            reveal_type(x.index)
            return x.type
        case None:
            return "nothing"
    reveal_type(x)
    return x


x = torch.ones(2, device="cuda", dtype=torch.float32, requires_grad=True)
if is_floating(x):
    reveal_type(x)
reveal_type(Overlap().done.elapsed_time)
reveal_type(Overlap().stream)
reveal_type(x.grad)
reveal_type(x[0] > 1)
reveal_type(x.max(dim=0).values)
reveal_type(cast("LongTensor", x).long())
reveal_type(torch.autograd.grad(x.sum(), [x]))
reveal_type(torch.cuda.mem_get_info()[0] / 2**30)
reveal_type(torch.backends.cuda.matmul.allow_tf32)
Overlap(stream="cuda")
