"""Prepares a program before it is cut into a forward and a backward graph.

MLX differentiates a whole program and keeps what both directions use.  aot_autograd hands out two graphs; equal
expressions are therefore found while they are still one, and the value crosses the cut instead of being computed twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from tdev_core.accelerators.mlx.lazy import torch

__all__ = ["decompositions", "partition"]


def partition(joint: Any, inputs: Any, **options: Any) -> Any:
    """Cut a joint graph into forward and backward, equal expressions computed once and everything else as written.

    What the backward graph shares with the forward one is kept between them, as MLX itself keeps it when it differentiates.
    """
    from torch._functorch.compile_utils import fx_graph_cse
    from torch._functorch.partitioners import default_partition

    if not any(map(_differs_when_repeated, joint.graph.nodes)):
        joint.graph = fx_graph_cse(joint.graph)
        joint.recompile()
    return default_partition(joint, inputs, **options)


def _differs_when_repeated(node: Any) -> bool:
    """Tell whether torch's search would take two equal calls for one that are two.

    It knows some random operators by name, but neither ``aten.uniform`` and its kin, which is what ``x.uniform_()``
    has become here, nor operators that return nothing and are there for their effect.
    """
    from torch._functorch.compile_utils import get_aten_target, rand_ops

    schema = getattr(node.target, "_schema", None)
    if schema is None:
        return False
    if not schema.returns:
        return True
    random = torch.Tag.nondeterministic_seeded in node.target.tags
    return random and get_aten_target(node) not in rand_ops


def _normal_cdf(x: Any) -> Any:
    return (torch.erf(x * math.sqrt(0.5)) + 1) * 0.5


def _gelu(x: Any, *, approximate: str = "none") -> Any:
    if approximate != "none" or x.dtype is not torch.float32:
        return NotImplemented
    return x * _normal_cdf(x)


def _gelu_backward(g: Any, x: Any, *, approximate: str = "none") -> Any:
    if approximate != "none" or x.dtype is not torch.float32:
        return NotImplemented
    return g * (_normal_cdf(x) + x * torch.exp(x * x * -0.5) * (1 / math.sqrt(2 * math.pi)))


@lru_cache(maxsize=1)
def decompositions(kernel_of: Callable[[Any], Any]) -> dict[Any, Any]:
    """Collect torch's decompositions of the operators without a kernel, and ours of those that share work with their derivative."""
    from torch._decomp import core_aten_decompositions

    aten = torch.ops.aten
    table = {
        o: f
        for o, f in core_aten_decompositions().items()
        if hasattr(o, "_schema") and kernel_of(o) is None
    }
    return {**table, aten.gelu.default: _gelu, aten.gelu_backward.default: _gelu_backward}
