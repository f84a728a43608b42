"""Python's garbage collector, while it would find nothing."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["uncollected"]


@contextmanager
def uncollected() -> Iterator[None]:
    """Facts and syntax trees are millions of objects that are kept to the end: collecting while they grow
    reads them again and again, and doubles the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
