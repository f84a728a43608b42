"""Keeps which graph the calling thread captures into: streams tell it, and graphs change it."""

from __future__ import annotations

import threading
from typing import Any

__all__ = ["begin", "end", "graph", "is_capturing"]

_local = threading.local()


def graph() -> Any:
    """Return the graph that the calling thread captures into; None outside of a capture."""
    return getattr(_local, "graph", None)


def is_capturing() -> bool:
    """Tell whether the calling thread is inside a capture."""
    return graph() is not None


def begin(graph: Any) -> None:
    """Note that the calling thread captures into ``graph`` from now on."""
    _local.graph = graph


def end() -> None:
    """Note that the calling thread's capture has ended."""
    _local.graph = None
