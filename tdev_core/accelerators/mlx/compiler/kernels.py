"""Decides what runs each node of a graph: MLX within a compiled part, the eager device, or Python."""

from __future__ import annotations

import operator
from collections.abc import Set
from enum import Enum
from typing import Any

from tdev_core.accelerators.mlx import attention, layout
from tdev_core.accelerators.mlx.dtypes import to_mx
from tdev_core.accelerators.mlx.lazy import torch
from tdev_core.accelerators.mlx.ops import norm, views
from tdev_core.accelerators.mlx.registry import OPERATORS

__all__ = ["Runner", "is_number", "kernel_of", "runner_of"]

Node = Any


class Runner(Enum):
    """The place at which a node is computed."""

    MLX = "an operator with a kernel over arrays, in a part that MLX compiles"
    EAGER = "an operator on device tensors, one by one"
    PYTHON = "a number computed from numbers"


def kernel_of(target: Any) -> Any:
    """Find the kernel over arrays of an operator, or None."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return None
    full = f"{schema.name}.{schema.overload_name or 'default'}"
    if full in attention.GRAPH:
        return attention.GRAPH[full]
    if not full.startswith("aten::"):
        return None
    overload = full.removeprefix("aten::")
    for table in (views.GRAPH, norm.GRAPH):
        if overload in table:
            return table[overload]
    row = OPERATORS.get(overload)
    if row is None or row.raw or not row.compiled:
        return None
    return layout.follow(row.kernel) if layout.elementwise(target) else row.kernel


def runner_of(node: Node, refused: Set[Node]) -> Runner:
    """Decide what runs a node; those in `refused` have a kernel that could not be traced."""
    if node in refused:
        return Runner.EAGER
    if node.op == "call_function" and is_number(node) and all(map(is_number, node.all_input_nodes)):
        return Runner.PYTHON
    if node.target is operator.getitem:
        source = node.args[0]
        return runner_of(source, refused) if source.op == "call_function" else Runner.EAGER
    if node.op != "call_function" or kernel_of(node.target) is None:
        return Runner.EAGER
    return Runner.MLX if all(map(_on_mlx, (node, *node.all_input_nodes))) else Runner.EAGER


def is_number(node: Node) -> bool:
    """Tell whether a node gives no tensor, nor anything with a tensor in it."""
    return node.meta.get("val") is not None and not any(
        isinstance(v, torch.Tensor) for v in _values(node)
    )


def _on_mlx(node: Node) -> bool:
    return all(
        v.dtype in to_mx and v.device.type == "mlx"
        for v in _values(node)
        if isinstance(v, torch.Tensor)
    )


def _values(node: Node) -> list[Any]:
    value = node.meta.get("val")
    return list(value) if isinstance(value, (list, tuple)) else [value]
