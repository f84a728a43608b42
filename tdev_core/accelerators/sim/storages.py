"""Answers ``torch.UntypedStorage`` and ``torch.multiprocessing`` for the ``sim`` device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import torch

from tdev_core.accelerators.privateuse import torch_api
from tdev_core.accelerators.sim import memory, sharing

__all__ = ["SimStorages"]

_UntypedStorage: Any = torch.UntypedStorage


class SimStorages:
    """The device's answers for ``torch.UntypedStorage``; see ``tdev_core.accelerators.privateuse.storages``.

    Args:
        rebuild: makes a tensor from what :func:`tdev_core.accelerators.sim.sharing.parts` gave, in the process that
            it was sent to, which may have to register the device first.
    """

    def __init__(self, rebuild: Callable[..., Any]) -> None:
        self._rebuild = rebuild

    def new(self, nbytes: int, index: int | None) -> torch.UntypedStorage:
        where = memory.current_device() if index is None else index
        memory.pool(where).check(nbytes)  # before the host is asked for the memory
        return memory.adopt(_UntypedStorage(nbytes), where)

    def nbytes(self, storage: torch.UntypedStorage) -> int:
        # One that tdev has not made is a fake tensor's: torch knows its size.
        return torch_api.storage_nbytes(memory.known_host(storage) or storage)

    def host(self, storage: torch.UntypedStorage) -> torch.UntypedStorage:
        return memory.host_of(storage)

    def write(self, storage: torch.UntypedStorage, source: torch.UntypedStorage) -> None:
        memory.host_of(storage).copy_(source)

    def part(self, storage: torch.UntypedStorage, host: torch.UntypedStorage) -> Any:
        """Return the storage over ``host``, a slice of this one's memory; it is counted as well, as long as it is there."""
        return memory.adopt(host, storage.device.index)

    def share_memory(self, storage: torch.UntypedStorage) -> None:
        """Move the bytes to shared memory, where processes that are sent the storage see them."""
        host: Any = memory.host_of(storage)
        if not host.is_shared():
            memory.check_follows(storage)
            host.share_memory_()
            memory.follow(storage)

    def is_shared(self, storage: torch.UntypedStorage) -> bool:
        """Tell whether they are there."""
        return bool(cast("Any", memory.host_of(storage)).is_shared())

    def share(self, tensor: torch.Tensor) -> tuple[Any, Any]:
        """Return what makes ``tensor`` over the same memory in another process, and its arguments."""
        return self._rebuild, sharing.parts(tensor)

    def resize(self, storage: torch.UntypedStorage, nbytes: int) -> None:
        memory.check_follows(storage)
        memory.host_of(storage).resize_(nbytes)
        memory.follow(storage)
