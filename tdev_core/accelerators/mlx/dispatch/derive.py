"""Derive in-place and ``out=`` overloads from a functional row, by torch's own schemas."""

from __future__ import annotations

from typing import Any

from tdev_core.accelerators.mlx.lazy import torch

__all__ = ["overloads", "derived"]


def overloads(name: str) -> list[Any]:
    """List all schemas of ``aten::name``."""
    return list(torch._C._jit_get_schemas_for_operator(f"aten::{name}"))


def _signature(arguments: list[Any]) -> list[tuple[str, str]]:
    return [(a.name, str(a.type)) for a in arguments]


def derived(name: str, overload: str) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Find the in-place overloads (``add_.Tensor``) and the out overloads (``add.out``, with their out names) of one row."""
    schemas = overloads(name)
    mine = next(
        s for s in schemas if s.overload_name == ("" if overload == "default" else overload)
    )
    wanted = _signature(mine.arguments)
    inplace = []
    for s in overloads(name + "_"):
        if _signature(s.arguments) == wanted:
            inplace.append(f"{name}_.{s.overload_name or 'default'}")
    outs = []
    for s in schemas:
        names = [
            a.name
            for a in s.arguments
            if a.alias_info is not None and a.alias_info.is_write and a.kwarg_only
        ]
        if not names or len(names) != len([a for a in s.arguments if a.alias_info is not None]):
            continue
        rest = [a for a in s.arguments if a.name not in names]
        if (
            _signature(rest) == [x for x in wanted if x[0] not in _FACTORY]
            or _signature(rest) == wanted
        ):
            outs.append((f"{name}.{s.overload_name}", names))
    return inplace, outs


_FACTORY = ("dtype", "layout", "device", "pin_memory")
