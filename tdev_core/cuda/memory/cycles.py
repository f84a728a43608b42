"""Reference cycles that keep the device's memory, for every backend (``torch.utils.viz._cycles``).

torch's own functions ask ``torch._C`` for the record of CUDA's allocator, and know tensors on CUDA alone; finding and drawing
cycles is theirs.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable
from typing import Any

import torch
from torch.cuda import _memory_viz

from tdev_core.backend import device_type
from tdev_core.cuda.memory import history

__all__ = ["observe", "warn"]

_logger = logging.getLogger("tdev")
_EVENTS = 100_000  # as torch keeps


def observe(callback: Callable[[str], object]) -> Callable[[], None]:
    """Have ``callback`` called with a page of HTML after a collection that found tensors of the device in cycles.

    Stacks of allocations are recorded from here on, by operators of the calling thread. Returns what ends the watch.
    """
    # The recording's first operator imports the compiler, and below a watch an import takes minutes: torch looks for cycles at
    # each of the collector's turns.
    from torch.utils.viz import _cycles

    history.record(
        max_entries=_EVENTS, stacks="python"
    )  # a page waits long for C++'s lines, and is read for Python's

    def seen(garbage: list[Any]) -> None:
        if any(_is_ours(value) for value in garbage):
            graph = _cycles.create_graph(garbage, context=_allocations(), filter=_is_ours)
            callback(_cycles.to_html(graph))

    disarm: Callable[[], None] = _cycles.observe_garbage(seen)
    return disarm


def warn() -> Callable[[], None]:
    """Log a warning with the name of a page for each such collection; returns what ends the watch."""

    def write(page: str) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".html", delete=False) as file:
            file.write(page)
        _logger.warning(
            "A reference cycle keeps tensors of the device; it is drawn in %s", file.name
        )

    return observe(write)


def _is_ours(value: object) -> bool:
    # type(), not isinstance(): garbage holds proxies that run code when they are asked.
    return issubclass(type(value), torch.Tensor) and history.counts(value, device_type())


def _allocations() -> Callable[[object], str | None]:
    """Return what tells of a tensor the stack that made its memory."""
    frames = {
        segment["address"]: segment["frames"] for segment in history.segments() if segment["frames"]
    }

    def context(value: object) -> str | None:
        if not isinstance(value, torch.Tensor) or not _is_ours(value):
            return None
        found = frames.get(history.address_of(value.untyped_storage()))
        return "\n".join(_memory_viz._frames_fmt(found, full_filename=True)) if found else None

    return context
