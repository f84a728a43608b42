"""``torch.cuda.nccl`` within one process: collectives over a list of tensors, without NCCL.

Each tensor stands for one device's part, as in the originals. These functions are older than
``torch.distributed``, which is how processes talk.

Source: ``torch.cuda.nccl``; numbers of the operations from ``nccl.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

__all__ = [
    "AVG",
    "MAX",
    "MIN",
    "PROD",
    "SUM",
    "all_gather",
    "all_reduce",
    "broadcast",
    "is_available",
    "reduce",
    "reduce_scatter",
]

SUM, PROD, MAX, MIN, AVG = range(5)


def _tensors(values: Any, name: str) -> list[torch.Tensor]:
    if isinstance(values, torch.Tensor) or not isinstance(values, Sequence):
        raise TypeError(f"{name} should be a collection of tensors")
    if not values or not all(isinstance(value, torch.Tensor) for value in values):
        raise TypeError(f"{name} should be a non-empty collection of tensors")
    return list(values)


def _combine(values: list[torch.Tensor], op: int) -> torch.Tensor:
    if op not in (SUM, PROD, MAX, MIN, AVG):
        raise RuntimeError(f"unknown NCCL operation {op}; known are 0 (sum) to 4 (average)")
    home = values[0].device
    result = values[0].clone()
    for value in values[1:]:
        other = value.to(home)
        match op:
            case 0 | 4:
                result.add_(other)
            case 1:
                result.mul_(other)
            case 2:
                result = torch.maximum(result, other)
            case _:
                result = torch.minimum(result, other)
    return result.div_(len(values)) if op == AVG else result


@torch.no_grad()
def all_reduce(
    inputs: Any, outputs: Any = None, op: int = SUM, streams: Any = None, comms: Any = None
) -> None:
    """Combine ``inputs`` and write the result to each of ``outputs``, by default the inputs."""
    values = _tensors(inputs, "inputs")
    targets = values if outputs is None else _tensors(outputs, "outputs")
    result = _combine(values, op)
    for target in targets:
        target.copy_(result)


@torch.no_grad()
def reduce(
    inputs: Any,
    output: Any = None,
    root: int = 0,
    op: int = SUM,
    streams: Any = None,
    comms: Any = None,
    *,
    outputs: Any = None,
) -> None:
    """Combine ``inputs`` and write the result to ``output``, by default ``inputs[root]``.

    ``outputs``, a list of which the tensor at ``root`` is written, is the deprecated form.
    """
    values = _tensors(inputs, "inputs")
    if outputs is not None:
        if output is not None:
            raise ValueError("'output' and 'outputs' can not be both specified")
        target = values[root] if outputs is None else outputs[root]
    elif output is None:
        target = values[root]
    else:
        target = output if isinstance(output, torch.Tensor) else output[root]
    target.copy_(_combine(values, op))


@torch.no_grad()
def broadcast(inputs: Any, root: int = 0, streams: Any = None, comms: Any = None) -> None:
    """Copy ``inputs[root]`` to all others."""
    values = _tensors(inputs, "inputs")
    for position, value in enumerate(values):
        if position != root:
            value.copy_(values[root])


@torch.no_grad()
def all_gather(inputs: Any, outputs: Any, streams: Any = None, comms: Any = None) -> None:
    """Write all ``inputs``, one after the other, to each of ``outputs``.

    Raises:
        RuntimeError: an output has not the size of all inputs together.
    """
    values = _tensors(inputs, "inputs")
    for target in _tensors(outputs, "outputs"):
        total = sum(value.numel() for value in values)
        if target.numel() != total:
            raise RuntimeError(f"an output holds {target.numel()} elements, all inputs {total}")
        flat = torch.cat([value.to(target.device).reshape(-1) for value in values])
        target.copy_(flat.view(target.shape))


@torch.no_grad()
def reduce_scatter(
    inputs: Any, outputs: Any, op: int = SUM, streams: Any = None, comms: Any = None
) -> None:
    """Combine ``inputs`` and write one equal part of the result to each of ``outputs``.

    Raises:
        RuntimeError: the outputs together have not the size of one input.
    """
    values, targets = _tensors(inputs, "inputs"), _tensors(outputs, "outputs")
    result = _combine(values, op).reshape(-1)
    if sum(target.numel() for target in targets) != result.numel():
        raise RuntimeError(
            f"the outputs hold {sum(t.numel() for t in targets)} elements, an input {result.numel()}"
        )
    start = 0
    for target in targets:
        target.copy_(result[start : start + target.numel()].view(target.shape))
        start += target.numel()


def is_available(tensors: Any) -> bool:
    """Tell whether these functions take ``tensors``: dense ones, each on the accelerator, as in torch, where
    several on one device are refused. There is one device here, so any number of them is taken."""
    return all(
        isinstance(value, torch.Tensor) and not value.is_sparse and value.is_contiguous()
        for value in tensors
    )
