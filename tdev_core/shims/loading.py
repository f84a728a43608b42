"""Shim for ``torch.utils.data.DataLoader``: pinned memory only means something to CUDA."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader

__all__ = ["loader_init"]


def loader_init(original: Callable[..., None]) -> Callable[..., None]:
    """``DataLoader.__init__`` with ``pin_memory=True`` taken as False.

    Elsewhere than on CUDA no copy gains from page-locked memory. torch would warn for every loader, or
    start a thread that hands batches on unchanged, and that thread sets the number of intra-op
    threads to 1 for every thread started later, the autograd engine's among them.
    """
    position = list(inspect.signature(DataLoader).parameters).index("pin_memory")

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > position:
            args = (*args[:position], False, *args[position + 1 :])
        else:
            kwargs["pin_memory"] = False
        kwargs.pop("pin_memory_device", None)
        original(self, *args, **kwargs)

    return __init__
