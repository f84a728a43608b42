"""Counts what a rank's collectives carry: how many, over which group, how many bytes, and how many of them this rank sends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed import distributed_c10d
from torch.utils._pytree import tree_leaves

__all__ = ["Collective", "Traffic"]

_NAMESPACES = frozenset({"c10d", "_c10d_functional", "_c10d_functional_autograd", "_dtensor"})
# By a part of the operator's name, the first that fits: c10d's and the functional ones spell them differently.
_KINDS = (
    ("reduce_scatter", "reduce_scatter"),
    ("allreduce", "all_reduce"),
    ("all_reduce", "all_reduce"),
    ("allgather", "all_gather"),
    ("all_gather", "all_gather"),
    ("alltoall", "all_to_all"),
    ("all_to_all", "all_to_all"),
    ("broadcast", "broadcast"),
    ("scatter", "scatter"),
    ("gather", "gather"),
    ("reduce", "reduce"),
    ("send", "send"),
    ("recv", "recv"),
)


@dataclass(frozen=True)
class Collective:
    """Equal collectives of one step.

    Attributes:
        kind: ``all_reduce``, ``all_gather``, …
        group: the name of the mesh's dimension, or of the group.
        size: ranks in the group.
        nodes: nodes that the group's ranks are on.
        count: how many there are.
        bytes: the largest of a collective's tensors, summed up: all of a gathered parameter, for one.
        sent: bytes that this rank sends, by the algorithms that send least: rings, and the sender's share of a broadcast.
    """

    kind: str
    group: str
    size: int
    nodes: int
    count: int
    bytes: int
    sent: int


class Traffic:
    """Sums up the collectives of each step."""

    def __init__(self, per_node: int) -> None:
        self._per_node = per_node
        self._step: dict[tuple[str, str, int, int], list[int]] = {}
        self.steps: list[list[Collective]] = []

    def hear(self, operator: Any, given: Any, result: Any) -> None:
        """Count an operator, if it is a collective."""
        if operator.namespace not in _NAMESPACES:
            return
        name = operator._schema.name.partition("::")[2]
        kind = next((kind for part, kind in _KINDS if part in name), None)
        group = _group(given)
        if kind is None or group is None:
            return
        size = max((sum(x.nbytes for x in side) for side in _sides(given, result)), default=0)
        ranks = distributed_c10d.get_process_group_ranks(group)
        nodes = len({rank // self._per_node for rank in ranks})
        label = str(group.group_desc or group.group_name).removeprefix("mesh_")
        entry = self._step.setdefault((kind, label, len(ranks), nodes), [0, 0, 0])
        entry[0] += 1
        entry[1] += size
        entry[2] += _sent(kind, size, len(ranks))

    def step(self) -> None:
        """Begin another step."""
        found = (Collective(*key, *numbers) for key, numbers in self._step.items())
        self.steps.append(sorted(found, key=lambda one: -one.sent))
        self._step = {}


def _group(given: Any) -> Any:
    """Return the group among an operator's arguments: an object of c10d's, or its name, which is the last text."""
    name: Any = None
    for value in tree_leaves(given):
        if isinstance(value, torch.ScriptObject) and "ProcessGroup" in str(value._type()):
            return torch.distributed.ProcessGroup.unbox(value)
        if isinstance(value, str):
            name = value
    return None if name is None else distributed_c10d._resolve_process_group(name)


def _sides(given: Any, result: Any) -> Iterator[list[torch.Tensor]]:
    """Yield the tensors of each argument, and of the result."""
    for side in (*given[0], *given[1].values(), result):
        tensors = [x for x in tree_leaves(side) if isinstance(x, torch.Tensor)]
        if tensors:
            yield tensors


def _sent(kind: str, size: int, ranks: int) -> int:
    """Return the bytes that one of so many ranks sends; ``size`` is that of the whole."""
    share = size * (ranks - 1) // ranks
    match kind:
        case "all_reduce":
            return 2 * share
        case "recv":
            return 0
        case "all_gather" | "reduce_scatter" | "all_to_all":
            return share
        case "gather" | "scatter":
            return size // ranks
        case _:
            return size
