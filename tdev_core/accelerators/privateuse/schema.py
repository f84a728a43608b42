"""Reads from an operator's schema, once, what a boxed kernel must know of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import torch
from torch._ops import OpOverload

__all__ = ["Facts", "facts"]


@dataclass(frozen=True)
class Facts:
    """Facts of one operator overload.

    ``written``: names of the arguments it writes to; ``device``: position and whether it is keyword
    only of its ``device`` argument, or None; ``returns``: for each return, the name of the argument
    that it *is* (``self`` of an in-place operator), or ``""`` for a new tensor or a view.
    """

    name: str
    arguments: tuple[str, ...]
    written: frozenset[str]
    written_lists: frozenset[str]
    returns: tuple[str, ...]
    device: int | None
    pointwise: bool
    random: bool
    generator: bool
    takes_tensors: bool


@cache
def facts(op: OpOverload) -> Facts:
    """Read the facts of ``op``; once."""
    schema = op._schema
    written, lists, by_label = set(), set(), {}
    device = None
    generator = takes_tensors = False
    for position, argument in enumerate(schema.arguments):
        kind = str(argument.type)
        takes_tensors = takes_tensors or "Tensor" in kind
        if argument.name == "device" and "Device" in kind:
            device = position
        generator = generator or "Generator" in kind
        alias = argument.alias_info
        if alias is not None and alias.is_write:
            written.add(argument.name)
            if "List" in kind:
                lists.add(argument.name)
            for label in alias.before_set:
                by_label[label] = argument.name
    returns = []
    for value in schema.returns:
        alias = value.alias_info
        named = ""
        if alias is not None and alias.is_write:
            named = next((by_label[x] for x in alias.before_set if x in by_label), "")
        returns.append(named)
    return Facts(
        name=str(schema.name) + (f".{schema.overload_name}" if schema.overload_name else ""),
        arguments=tuple(argument.name for argument in schema.arguments),
        written=frozenset(written),
        written_lists=frozenset(lists),
        returns=tuple(returns),
        device=device,
        pointwise=torch.Tag.pointwise in op.tags,
        random=torch.Tag.nondeterministic_seeded in op.tags,
        generator=generator,
        takes_tensors=takes_tensors,
    )
