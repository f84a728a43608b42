"""Memory pools (``torch.cuda.MemPool``) where one heap serves everybody."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch

from tdev_core.accelerators import instances
from tdev_core.devices import device_index

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["MemPool", "new_id", "use_mem_pool"]

_numbers = itertools.count(1)


def new_id() -> tuple[int, int]:
    """Return the id of another pool, unique in the process: of a :class:`MemPool`, or of those that graphs share."""
    return 0, next(_numbers)


if TYPE_CHECKING:
    _Base = torch.cuda.MemPool
else:
    _Base = instances.base(torch.cuda.MemPool)


class MemPool(_Base):
    """A pool's identity. Memory comes from the backend's one heap, whichever pool is in use.

    A pool changes where CUDA's allocator takes memory from, never what is computed. What cannot be
    done is said: :meth:`snapshot` is empty, for the pool itself holds nothing.

    Args:
        allocator: accepted; see :class:`tdev_core.cuda.memory.allocator.CUDAPluggableAllocator`.
        use_on_oom: accepted.
        no_split: accepted.

    Source: ``torch.cuda.MemPool``.
    """

    def __new__(
        cls, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False
    ) -> Self:
        return object.__new__(cls)

    def __init__(
        self, allocator: Any = None, use_on_oom: bool = False, no_split: bool = False
    ) -> None:
        self._allocator = allocator
        self._id = new_id()
        self._users = 1

    @property
    def id(self) -> tuple[int, int]:
        """The pool's number, unique in the process."""
        return self._id

    @property
    def allocator(self) -> Any:
        """The allocator that was given at creation."""
        return self._allocator

    def use_count(self) -> int:
        """Count 1 for the object itself, and 1 for each :func:`use_mem_pool` that is open."""
        return self._users

    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]:
        """Return nothing, nor any traces (``include_traces``): no memory belongs to the pool itself."""
        return []


@contextlib.contextmanager
def use_mem_pool(pool: Any, device: Any = None) -> Iterator[None]:
    """Make a context in which ``pool`` is in use on ``device``.

    Raises:
        TypeError: ``pool`` is not a memory pool.
    """
    if not hasattr(pool, "_users"):
        raise TypeError(f"pool must be a torch.cuda.MemPool, got {type(pool).__name__}")
    device_index(device)
    pool._users += 1
    try:
        yield
    finally:
        pool._users -= 1
