"""Functions that return nothing, as operators, so that a compiled graph goes on through them.

Imported once the compiler is. The operators take no tensor, and are kept for what they do.

Source: ``torch.library.custom_op``; ``torch.fx.has_side_effect``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import torch

from tdev_core.accelerators import streams
from tdev_core.backend import Backend, current
from tdev_core.cuda.memory import usage as memory
from tdev_core.devices import device_index

__all__ = ["effect", "substitute", "synchronize", "teach"]

Function = TypeVar("Function", bound=Callable[..., Any])


def effect(function: Callable[..., None]) -> Callable[..., None]:
    """Make ``tdev::name``, an operator that calls ``function``, of integers, whenever the graph runs."""
    made = torch.library.custom_op(f"tdev::{function.__name__}", function, mutates_args=())
    made.register_fake(lambda *args: None)
    called: Callable[..., None] = getattr(torch.ops.tdev, function.__name__).default
    torch.fx.node.has_side_effect(called)
    return called


@effect
def empty_cache() -> None:
    memory.empty_cache()


@effect
def synchronize(index: int) -> None:
    streams.synchronize(index)


@effect
def reset_peak_memory_stats(index: int) -> None:
    memory.reset_peak(index)


@effect
def reset_accumulated_memory_stats(index: int) -> None:
    memory.reset_accumulated(index)


def drain(index: int) -> None:
    """Put :func:`synchronize` into the graph, where there is a queue to wait for."""
    if current() is not Backend.CPU:
        synchronize(index)


def substitute(function: Any) -> Callable[[Function], Function]:
    """Call ``torch.compiler.substitute_in_graph`` for a replacement that the compiler can trace."""
    decorator: Any = torch.compiler.substitute_in_graph(function)
    return cast(Callable[[Function], Function], decorator)


def teach() -> None:
    """Have the compiler put the operators in the place of the functions."""

    @substitute(memory.empty_cache)
    def _() -> None:
        empty_cache()

    @substitute(streams.synchronize)
    def _(device: Any = None) -> None:
        drain(device_index(device))

    @substitute(memory.reset_peak)
    def _(device: Any = None) -> None:
        reset_peak_memory_stats(device_index(device))

    @substitute(memory.reset_accumulated)
    def _(device: Any = None) -> None:
        reset_accumulated_memory_stats(device_index(device))
