"""Find the functions of TorchScript's compilation unit that a graph calls, and what those call in turn.

All of a process's threads compile into one unit, so that what has come into it during a call may be another's.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tdev_core import torchscript

__all__ = ["called", "nodes"]


def nodes(block: Any) -> Iterator[Any]:
    """Walk a graph's nodes, those of inner blocks included; the one that was given may be destroyed."""
    for node in list(block.nodes()):
        inner = list(node.blocks())
        yield node
        for part in inner:
            yield from nodes(part)


def called(graphs: Iterable[Any], classes: Iterable[str] = ()) -> Iterator[Any]:
    """Find the functions, methods of scripted classes among them, that ``graphs`` lead to; each once.

    Args:
        graphs: ``torch._C.Graph`` objects.
        classes: the qualified names of classes whose methods count as called.
    """
    functions = {f.qualified_name: f for f in torchscript.compiled_functions()}
    methods: dict[str, list[str]] = {}
    for name in functions:
        methods.setdefault(name.rpartition(".")[0], []).append(name)
    waiting = [name for kind in classes for name in methods.get(kind, ())]
    for graph in graphs:
        waiting += _names(graph, methods)
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in functions:
            continue
        seen.add(name)
        yield functions[name]
        waiting += _names(functions[name].graph, methods)


def _names(graph: Any, methods: dict[str, list[str]]) -> Iterator[str]:
    for node in nodes(graph):
        for value in (*node.inputs(), *node.outputs()):
            kind = value.type()
            if kind.kind() == "FunctionType":
                yield str(kind)
            elif kind.kind() == "ClassType":
                yield from methods.get(kind.qualified_name(), ())
