"""Sharding of the operators that this device keeps whole and torch's CUDA path does not, for ``DTensor``.

A ``DTensor`` needs a strategy for each operator that it meets, and has them for those that CUDA's layers end in. Here a
linear layer goes backward in one operator (``aten::linear_backward``), and attention both ways in one of our own.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from tdev_core.import_hooks import when_imported

__all__ = ["install"]


def install() -> None:
    """Register the strategies once a program has imported ``torch.distributed.tensor``."""
    if torch.distributed.is_available():
        when_imported(("torch.distributed.tensor",), _register)


def _register(module: ModuleType) -> None:
    from torch.distributed.tensor.experimental import register_sharding

    ops: Any = torch.ops
    module.DTensor._op_dispatcher._custom_op_handlers[ops.aten.linear_backward.default] = _linear
    register_sharding(ops.tdev_mlx.attention.default)(_attention)
    register_sharding(ops.tdev_mlx.attention_backward.default)(_attention_backward)


def _linear(op: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """Compute ``linear_backward`` from the products that its derivative consists of on CUDA."""
    x, grad, weight, wanted = args
    rows, grads = (t.reshape(-1, t.shape[-1]) for t in (x, grad))
    return (
        torch.mm(grads, weight).view(x.shape) if wanted[0] else None,
        torch.mm(grads.t(), rows) if wanted[1] else None,
        grads.sum(0) if wanted[2] else None,
    )


def _attention(query: Any, key: Any, value: Any, mask: Any, causal: Any, scale: Any) -> Any:
    return _along_batch_and_heads(1, 3, mask)


def _attention_backward(
    grad: Any, query: Any, key: Any, value: Any, mask: Any, causal: Any, scale: Any
) -> Any:
    return _along_batch_and_heads(3, 4, mask)


def _along_batch_and_heads(results: int, tensors: int, mask: Any) -> list[Any]:
    """List the shardings that need no communication: none, by batch, and by heads."""
    from torch.distributed.tensor import Replicate, Shard

    found: list[Any] = []
    for dim in (None, 0, 1):
        placement: Any = Replicate() if dim is None else Shard(dim)
        split = (
            mask is not None and dim is not None and len(mask.shape) == 4 and mask.shape[dim] != 1
        )
        of_mask = None if mask is None else placement if split else Replicate()
        found.append(([placement] * results, [placement] * tensors + [of_mask, None, None]))
    return found
