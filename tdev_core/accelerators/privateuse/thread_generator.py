"""The generator that the calling thread draws from, where a block has named one in place of the devices' default ones.

Imports nothing of torch: mlx's table of operators is read where it is not installed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

__all__ = ["drawing_from", "named"]

_instead = threading.local()  # its `generator`, where a block has named one


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Have the calling thread draw from ``generator``, on whatever device, where an operator is given none."""
    before = named()
    _instead.generator = generator
    try:
        yield
    finally:
        _instead.generator = before


def named() -> torch.Generator | None:
    """Return what the calling thread draws from instead of a device's default generator; None where it does not."""
    return getattr(_instead, "generator", None)
