"""Shims for the iterators of ``torch.utils.data.DataLoader``: pinned memory only means something to CUDA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data._utils.pin_memory import pin_memory

__all__ = ["iterator_init", "iterator_next"]


class _Unpinned:
    """A loader as it is, but for ``pin_memory``."""

    pin_memory = False

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def iterator_init(original: Callable[..., None]) -> Callable[..., None]:
    """``_BaseDataLoaderIter.__init__`` without the machinery of ``pin_memory=True``.

    Elsewhere than on CUDA no copy gains from page-locked memory. torch would warn for every loader, or
    start a thread for it that sets the number of intra-op threads to 1 for every thread started later,
    the autograd engine's among them.
    """

    def __init__(self: Any, loader: Any) -> None:
        self._tdev_pins = bool(loader.pin_memory)
        original(self, _Unpinned(loader) if self._tdev_pins else loader)

    return __init__


def iterator_next(original: Callable[..., Any]) -> Callable[..., Any]:
    """``_BaseDataLoaderIter.__next__``, which asks the batch to pin itself as it is asked on CUDA.

    Tensors answer with themselves here. A batch of the program's own class has its ``pin_memory`` called
    and is replaced by what that returns.
    """

    def __next__(self: Any) -> Any:
        batch = original(self)
        return pin_memory(batch) if getattr(self, "_tdev_pins", False) else batch

    return __next__
