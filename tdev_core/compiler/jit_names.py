"""Names of devices that a TorchScript graph learns while it runs.

``def f(x, device: str): return x.to(device)`` becomes a call of ``aten::device`` with a string that the
graph is given. The rules of :func:`tdev_core.devices.translate`, as they are in this process, are written
as two TorchScript functions, whose graphs are put in the place of that call: a graph saved with them has
nothing in it but torch's own operators.

Source: ``aten::device`` in ``torch/csrc/jit/runtime/register_prim_ops.cpp``.
"""

from __future__ import annotations

import functools
from typing import Any

import torch

from tdev_core.accelerator import accelerator
from tdev_core.backend import Backend, current
from tdev_core.devices import ACCELERATORS, is_foreign

__all__ = ["insert"]

_SOURCE = """
def full_name(kind: str, index: int) -> str:
    return kind + ":" + str(index)

def is_translated(name: str) -> bool:
    kind = name.split(":")[0]
    return {foreign}

def translated(name: str) -> Device:
    parts = name.split(":")
    kind = parts[0]
    result = torch.device("{target}")
    if not ({foreign}):
        result = torch.device(name)
    elif len(parts) > 1 and {count} > 0:
        index = int(parts[1])
        if index >= {count}:
            index = 0
        result = torch.device("{target}", index)
    return result
"""


@functools.cache
def _rules() -> Any:
    foreign = sorted(kind for kind in ACCELERATORS if is_foreign(kind))
    backend = current()
    count = 0 if backend is Backend.CPU else _count(backend)
    source = _SOURCE.format(
        foreign=" or ".join(f'kind == "{kind}"' for kind in foreign) or "False",
        target=backend.value,
        count=count,
    )
    return torch.jit.CompilationUnit(source)


def _count(backend: Backend) -> int:
    return torch.mps.device_count() if backend is Backend.MPS else accelerator().device_count()


def insert(graph: Any, values: list[Any]) -> tuple[Any, Any]:
    """Put the translation of a name at the graph's insert point.

    Args:
        graph: a ``torch._C.Graph``.
        values: the graph's values for the name, and for the index where that is a value of its own.

    Returns:
        The graph's values for the device, and for whether the name was another device's.
    """
    rules = _rules()
    if len(values) > 1:
        values = graph.insertGraph(rules.full_name.graph, values)
    (device,) = graph.insertGraph(rules.translated.graph, values)
    (translated,) = graph.insertGraph(rules.is_translated.graph, values)
    return device, translated
