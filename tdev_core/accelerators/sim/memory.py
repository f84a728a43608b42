"""Storages of the ``sim`` device: host memory with an owner, a device and a count.

Invariants
----------
* A sim storage's bytes live in a CPU ``UntypedStorage``, its *host*, an attribute of its Python
  object (torch keeps that object as long as the storage lives).
* A host carries one ``Block``: which device it is counted on and with how many bytes. The block dies
  with the host, whoever held it last (a sim tensor, or a CPU alias inside an autograd graph), so
  ``allocated`` is exactly the bytes of live hosts.
* The sim storage covers the host's bytes exactly. Kernels may resize a host (``resize_``, ``out=``);
  :func:`follow` then moves the sim storage and the count along.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, cast

import torch

from tdev_core.accelerators.privateuse import torch_api
from tdev_core.errors import no_memory
from tdev_core.watermark import Tally

__all__ = [
    "Block",
    "Pool",
    "SimStorages",
    "adopt",
    "configure",
    "current_device",
    "device",
    "device_count",
    "follow",
    "host_of",
    "pool",
    "set_device",
]


_UntypedStorage: Any = torch.UntypedStorage
_nbytes = torch_api.storage_nbytes


class Pool:
    """The memory of one device: capacity, and counters of bytes and of the storages that hold them."""

    def __init__(self, index: int, total: int) -> None:
        self.index = index
        self.total = total
        self.fraction = 1.0
        self.used = False  # whether anything was ever made on the device
        self.bytes = Tally()
        self.blocks = Tally()
        self.ooms = 0
        self.lock = threading.RLock()  # a garbage collection inside may free a block of this pool

    @property
    def allocated(self) -> int:
        """Bytes held now."""
        return self.bytes.now

    def check(self, more: int) -> None:
        """Whether ``more`` bytes fit.

        Raises:
            torch.OutOfMemoryError: they exceed the capacity, or the part of it that the process may use.
        """
        if more > 0 and self.bytes.now + more > self.total * self.fraction:
            with self.lock:
                self.ooms += 1
            raise torch.OutOfMemoryError(self._out_of_memory(more))

    def change(self, before: int, after: int) -> None:
        """Count a storage of ``after`` bytes instead of ``before``; 0 is none.

        Raises:
            torch.OutOfMemoryError: as :meth:`check`; nothing is counted.
        """
        with self.lock:
            self.check(after - before)
            self.used = True
            if before > 0:
                self.bytes.down(before)
                self.blocks.down(1)
            if after > 0:
                self.bytes.up(after)
                self.blocks.up(1)

    def reset_peak(self) -> None:
        """Let the peaks start again from what is held now."""
        with self.lock:
            self.bytes.reset_peak()
            self.blocks.reset_peak()

    def reset_totals(self) -> None:
        """Let the totals and the number of refusals start again from 0."""
        with self.lock:
            self.bytes.reset_totals()
            self.blocks.reset_totals()
            self.ooms = 0

    def _out_of_memory(self, nbytes: int) -> str:
        free = self.total - self.allocated
        allowed = ""
        if self.fraction < 1:
            allowed = f"{_human(int(self.total * self.fraction))} allowed to this process; "
        return no_memory(
            f"sim:{self.index}",
            f"Tried to allocate {_human(nbytes)}. GPU {self.index} has a total capacity of "
            f"{_human(self.total)} of which {_human(max(free, 0))} is free. {allowed}Of the allocated "
            f"memory {_human(self.allocated)} is held by live tensors. "
            "The capacity is TDEV_SIM_MEMORY (bytes for each device).",
        )


def _human(nbytes: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes >= size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} bytes"


class Block:
    """``nbytes`` counted in ``pool`` until this object dies."""

    __slots__ = ("nbytes", "pool", "storage")

    def __init__(self, pool: Pool, nbytes: int) -> None:
        self.nbytes = 0
        self.pool = pool
        self.storage: weakref.ref[torch.UntypedStorage] | None = None
        pool.change(0, nbytes)
        self.nbytes = nbytes

    def __del__(self) -> None:
        self.pool.change(self.nbytes, 0)


_pools: list[Pool] = []
_devices: list[torch.device] = []
_current = threading.local()


def configure(devices: int, total: int) -> None:
    """Make the pools: ``devices`` of ``total`` bytes each."""
    _pools[:] = [Pool(index, total) for index in range(devices)]


def pool(index: int) -> Pool:
    """The pool of device ``index``.

    Raises:
        RuntimeError: there is no such device, worded as CUDA does.
    """
    if not 0 <= index < len(_pools):
        raise RuntimeError(
            f"sim error: invalid device ordinal (sim:{index} was asked for and there are {len(_pools)}; "
            "set TDEV_SIM_DEVICES to have more)"
        )
    return _pools[index]


def device_count() -> int:
    """How many devices are configured."""
    return len(_pools)


def current_device() -> int:
    """Index of the calling thread's current device."""
    index: int = getattr(_current, "index", 0)
    return index


def set_device(index: int) -> None:
    """Make ``index`` the calling thread's current device."""
    pool(index)
    _current.index = index


def device(index: int) -> torch.device:
    """``torch.device("sim", index)``."""
    while len(_devices) <= index:
        _devices.append(torch.device("sim", len(_devices)))
    return _devices[index]


# Attributes that mypy cannot know on torch's class.
def host_of(storage: Any) -> torch.UntypedStorage:
    """The CPU storage that holds the bytes of the sim storage ``storage``.

    Raises:
        RuntimeError: the storage was made by something else than the sim device.
    """
    try:
        host: torch.UntypedStorage = storage._tdev_host
    except AttributeError:
        raise RuntimeError(
            "this storage on the 'sim' device has no memory of its own; it was not made by tdev"
        ) from None
    return host


def adopt(host: Any, index: int) -> torch.UntypedStorage:
    """The sim storage over ``host``; a host that is new is counted on device ``index``.

    Raises:
        torch.OutOfMemoryError: the device's capacity would be exceeded.
    """
    block: Block | None = getattr(host, "_tdev_block", None)
    if block is None:
        block = Block(pool(index), _nbytes(host))
        host._tdev_block = block
    elif block.storage is not None:
        known = block.storage()
        if known is not None:
            return known
    return _storage_over(host, block)


def _storage_over(host: Any, block: Block) -> torch.UntypedStorage:
    storage: Any = torch_api.storage_over(host.data_ptr(), _nbytes(host), device(block.pool.index))
    storage._tdev_host = host
    block.storage = weakref.ref(storage)
    return storage  # type: ignore[no-any-return]


def follow(host: Any) -> bool:
    """Move the sim storage and the count along if ``host`` has been resized; whether it had been.

    Raises:
        torch.OutOfMemoryError: it grew beyond the capacity; it is given its old size back.
    """
    block: Block = host._tdev_block
    nbytes = _nbytes(host)
    if nbytes == block.nbytes:
        return False
    try:
        block.pool.change(block.nbytes, nbytes)
    except torch.OutOfMemoryError:
        host.resize_(block.nbytes)
        _reseat(host, block)
        raise
    block.nbytes = nbytes
    _reseat(host, block)
    return True


def _reseat(host: torch.UntypedStorage, block: Block) -> None:
    storage = block.storage() if block.storage is not None else None
    if storage is not None:
        torch_api.reseat_storage(storage, host.data_ptr(), _nbytes(host))


class SimStorages:
    """The device's answers for ``torch.UntypedStorage``; see ``tdev_core.accelerators.privateuse.storages``."""

    def new(self, nbytes: int, index: int | None) -> torch.UntypedStorage:
        where = current_device() if index is None else index
        pool(where).check(nbytes)  # before the host is asked for the memory
        return adopt(_UntypedStorage(nbytes), where)

    def nbytes(self, storage: torch.UntypedStorage) -> int:
        return _nbytes(host_of(storage))

    def host(self, storage: torch.UntypedStorage) -> torch.UntypedStorage:
        return host_of(storage)

    def write(self, storage: torch.UntypedStorage, source: torch.UntypedStorage) -> None:
        host_of(storage).copy_(source)

    def share_memory(self, storage: torch.UntypedStorage) -> None:
        """Move the bytes to shared memory, where processes that are sent the storage see them."""
        host: Any = host_of(storage)
        if not host.is_shared():
            host.share_memory_()
            _reseat(host, host._tdev_block)

    def is_shared(self, storage: torch.UntypedStorage) -> bool:
        """Whether they are there."""
        return bool(cast("Any", host_of(storage)).is_shared())

    def share(self, tensor: torch.Tensor) -> tuple[Any, Any]:
        """How ``torch.multiprocessing`` rebuilds ``tensor`` over the same memory elsewhere."""
        from tdev_core.accelerators.sim import sharing

        return sharing.reduce(tensor)

    def resize(self, storage: torch.UntypedStorage, nbytes: int) -> None:
        host = host_of(storage)
        host.resize_(nbytes)
        follow(host)
