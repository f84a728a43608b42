"""``torch.compile(backend="inductor")`` on tensors of a Python device.

TorchInductor has no code generator for the device and would end with a ``KeyError`` that names it. A
library that calls ``torch.compile`` itself, which nothing translates, gets the compiler that runs there
instead, with one warning; graphs that do not touch the device are Inductor's as ever.

Source: ``torch/_inductor/compile_fx.py``, which every way to Inductor goes through.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from tdev_core.errors import DeviceWarning, warn_once
from tdev_core.import_hooks import when_imported
from tdev_core.internals import relying_on

__all__ = ["install"]

_INDUCTOR = "torch._inductor.compile_fx"


def install(name: str, compiler: str) -> None:
    """Have ``compiler``, a registered backend of ``torch.compile``, take Inductor's graphs on ``name``."""

    def route(module: ModuleType) -> None:
        with relying_on(
            f"{_INDUCTOR}.compile_fx",
            f"torch.compile of code that tdev does not rewrite fails on '{name}'",
        ):
            _route(module, name, compiler)

    when_imported({_INDUCTOR}, route)


def _route(module: ModuleType, name: str, compiler: str) -> None:
    original = module.compile_fx

    @functools.wraps(original)
    def compile_fx(model_: Any, example_inputs_: Any, *args: Any, **kwargs: Any) -> Any:
        if not _touches(model_, example_inputs_, name):
            return original(model_, example_inputs_, *args, **kwargs)
        warn_once(
            f"TorchInductor has no code generator for '{name}'; {compiler!r} compiles instead",
            DeviceWarning,
            code="TDEV304",
            key=("compile", "inductor"),
            stacklevel=2,
        )
        from torch._dynamo.backends.registry import lookup_backend

        return lookup_backend(compiler)(model_, example_inputs_)

    module.compile_fx = compile_fx  # type: ignore[attr-defined]


def _touches(model: Any, inputs: Any, name: str) -> bool:
    """Tell whether an input, a parameter or a value of the graph ``model`` is on the device."""
    values = list(tree_leaves(inputs))
    if isinstance(model, torch.nn.Module):
        values += [*model.parameters(), *model.buffers()]
    nodes = model.graph.nodes if isinstance(model, torch.fx.GraphModule) else ()
    for node in nodes:
        values += tree_leaves([node.meta.get("example_value"), node.meta.get("val")])
        values += [value for value in node.kwargs.values() if isinstance(value, torch.device)]
    return any(_on(value, name) for value in values)


def _on(value: Any, name: str) -> bool:
    where = value.device if isinstance(value, torch.Tensor) else value
    return isinstance(where, torch.device) and where.type == name
