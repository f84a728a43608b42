"""Has random operators of the calling thread draw from a generator that is not the default one, without touching that.

torch draws from the process's default generator wherever none is given, and many operators compute what they draw
several layers down: ``lstm`` drops out between its layers. A dispatch mode, which belongs to the calling thread, sees the
operators that draw and gives them the generator.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode

from tdev_core.accelerators.privateuse import torch_api

__all__ = ["DrawsFrom"]

_GENERATOR = "generator"
_KEYS = (
    "CPU",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "CompositeImplicitAutograd",
)


class DrawsFrom(TorchDispatchMode):
    """Make a context in which operators on CPU tensors, where no generator is given to them, draw from ``generator``."""

    def __init__(self, generator: torch.Generator) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._generator = generator

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        named = kwargs or {}
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return func(*args, **named)
        place = _place(func)
        if place is None:  # it draws with the help of other operators, which come here
            with self:
                return torch_api.call_at(func, _key(func), *args, **named)
        if len(args) > place:
            if args[place] is None:
                args = (*args[:place], self._generator, *args[place + 1 :])
        elif named.get(_GENERATOR) is None:
            named = {**named, _GENERATOR: self._generator}
        return func(*args, **named)


@cache
def _place(op: OpOverload) -> int | None:
    """Return where ``op`` takes its generator by position, beyond all positions by name only; None where it takes none."""
    if all(a.name != _GENERATOR for a in op._schema.arguments):
        return None
    positions = [a.name for a in op._schema.arguments if not a.kwarg_only]
    return positions.index(_GENERATOR) if _GENERATOR in positions else len(positions)


@cache
def _key(op: OpOverload) -> str:
    """Return the dispatch key of the kernel that the CPU runs."""
    return next(key for key in _KEYS if torch_api.has_kernel(op.name(), key))
