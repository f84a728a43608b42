"""Graphs that were made elsewhere: exported programs and graph modules that name CUDA as a constant.

``torch.export.save`` writes the device of every weight, of every intermediate value and of every
factory in the graph; a pickled :class:`torch.fx.GraphModule` holds them in its code. Passes of a user
put more there (``node.kwargs = {"device": "cuda"}``). None of it goes through a function of tdev when
it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.fx.node import map_aggregate
from torch.overrides import TorchFunctionMode

from tdev_core.devices import translate
from tdev_core.shims import serialization

__all__ = ["Translating", "graph_python_code", "load", "settle", "tracer_trace"]


class Translating(TorchFunctionMode):
    """Inside, and in this thread, every torch function gets the devices that its arguments mean here."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Iterable[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        return func(*map(_device, args), **_translated(kwargs or {}))


def _device(value: Any) -> Any:
    return translate(value) if isinstance(value, torch.device) else value


def _translated(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    # By this name a string is a device too.
    return {k: translate(v) if k == "device" else _device(v) for k, v in kwargs.items()}


def settle(graph: torch.fx.Graph) -> None:
    """Write the devices that the constants of ``graph`` mean here into its nodes.

    Constants are ``torch.device`` objects wherever they stand, and what an argument ``device=`` holds.
    """
    for node in graph.nodes:
        kwargs = node.kwargs
        if "device" in kwargs:
            device = kwargs["device"]
            # What is computed while the graph runs is a node, and an int is no index in all operators.
            if isinstance(device, (str, torch.device)) and translate(device) != _plain(device):
                node.kwargs = {**kwargs, "device": translate(device)}
        if any(_device(value) is not value for value in node.args):
            node.args = map_aggregate(node.args, _device)


def _plain(device: str | torch.device) -> Any:
    try:
        return torch.device(device)
    except RuntimeError:
        return device


def graph_python_code(original: Callable[..., Any]) -> Callable[..., Any]:
    """``Graph.python_code``: what runs is made of it, so the constants are settled before."""

    def python_code(self: torch.fx.Graph, *args: Any, **kwargs: Any) -> Any:
        settle(self)
        return original(self, *args, **kwargs)

    return python_code


def tracer_trace(original: Callable[..., Any]) -> Callable[..., Any]:
    """``Tracer.trace``: a pickled graph module is read by running its code, constants and all."""
    from torch.fx.graph_module import _CodeOnlyModule

    def trace(self: torch.fx.Tracer, root: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(root, _CodeOnlyModule):
            return original(self, root, *args, **kwargs)
        with Translating():
            return original(self, root, *args, **kwargs)

    return trace


def load(f: Any, **options: Any) -> torch.export.ExportedProgram:
    """``torch.export.load`` with weights, example inputs and graph on the devices that are here.

    Args:
        f: a path or a binary file.
        options: ``extra_files`` and ``expected_opset_version``, as torch takes them.

    Source: ``torch.export.save`` and ``torch.export.load`` documentation.
    """
    with Translating(), serialization.translated_tags():
        program = torch.export.load(f, **options)
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            settle(module.graph)
            module.recompile()
    return program
