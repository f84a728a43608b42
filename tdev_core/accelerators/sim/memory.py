"""Storages of the ``sim`` device: host memory with an owner, a device and a count.

Invariants
----------
* A sim storage's bytes live in a CPU ``UntypedStorage``, its *host*: what the native kernels' library keeps for the
  storage where it is loaded, else an attribute of its Python object (torch keeps that as long as the storage lives).
* A host is counted once: by its ``Block``, an attribute that says on which device and with how many bytes, or by the
  library, around the host's memory. Both die with the host, whoever held it last (a sim tensor, or a CPU alias inside
  an autograd graph), so ``allocated`` is exactly the bytes of live hosts.
* The sim storage covers the host's bytes exactly. Kernels may resize a host (``resize_``, ``out=``), and sharing moves it;
  :func:`follow` then moves the sim storage and the count along.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import torch

from tdev_core.accelerators import tracing
from tdev_core.accelerators.privateuse import torch_api
from tdev_core.accelerators.sim import faults, listening, visible
from tdev_core.errors import no_memory
from tdev_core.metrics.watermark import Tally

__all__ = [
    "Block",
    "Pool",
    "adopt",
    "adopt_whole",
    "check_follows",
    "configure",
    "current_device",
    "device",
    "device_count",
    "follow",
    "host_of",
    "index_of",
    "known_host",
    "name_devices",
    "observers",
    "on",
    "pool",
    "set_device",
]


_nbytes = torch_api.storage_nbytes


_ONE_EXA = 1152921504606846976
"""The bytes from which CUDA's allocator says no more than that. Source: ``c10/cuda/CUDACachingAllocator.cpp``."""


observers: list[Callable[[int, int, int, int], object]] = []
"""Who is told, before it is raised, that there is no memory: the device, and bytes asked for, in all, and free.

Source: ``attachOutOfMemoryObserver`` in ``c10/cuda/CUDACachingAllocator.h``.
"""


class Pool:
    """The memory of one device: capacity, and counters of bytes and of the storages that hold them."""

    def __init__(self, index: int, total: int, backing: int) -> None:
        self.index = index
        self.total = total
        self._backing = backing
        self.bytes: Tally = Tally()
        self.blocks: Tally = Tally()
        self.used_here = False
        self.native: Any = None
        if _native is not None:
            self.native = _native.pool(index)
            self.bytes, self.blocks = self.native.bytes, self.native.blocks
        self.fraction = 1.0
        self.ooms = 0
        self.syncs = 0  # as CUDA's allocator waits for all streams to give back what it has cached
        self.lock = threading.RLock()  # a garbage collection inside may free a block of this pool

    @property
    def allocated(self) -> int:
        """Return the bytes held now."""
        return self.bytes.now

    @property
    def used(self) -> bool:
        """Tell whether anything was ever made on the device."""
        return self.used_here or (self.native is not None and self.native.used)

    @property
    def fraction(self) -> float:
        """Return the part of the capacity that the process may hold."""
        return self._fraction

    @fraction.setter
    def fraction(self, fraction: float) -> None:
        self._fraction = fraction
        self._set_limit()

    @property
    def backing(self) -> int:
        """Return the bytes that the host can give of the capacity; a profile tells of more."""
        return self._backing

    @backing.setter
    def backing(self, backing: int) -> None:
        self._backing = backing
        self._set_limit()

    def _set_limit(self) -> None:
        """Say how many bytes the process may hold: its fraction of the capacity, cut as torch cuts it.

        Never all of a GPU's memory is a program's, whose own state lies there too: two halves of it do not fit.
        """
        self.limit = min(int(self.total * self._fraction), self._backing, self.total - 1)
        if self.native is not None:
            self.native.limit = self.limit

    def check(self, more: int) -> None:
        """Refuse ``more`` bytes where they do not fit.

        Raises:
            torch.OutOfMemoryError: they exceed the capacity, or the part of it that the process may use.
        """
        if more > 0 and self.bytes.now + more > self.limit:
            self.refuse(more)

    def refuse(self, nbytes: int) -> NoReturn:
        """Raise that ``nbytes`` bytes do not fit: by this count, or because the host itself has no more."""
        with self.lock:
            self.ooms += 1
        for observer in observers:
            observer(self.index, nbytes, self.total, max(self.total - self.allocated, 0))
        if nbytes >= _ONE_EXA:
            raise torch.OutOfMemoryError(
                no_memory(f"sim:{self.index}", "Tried to allocate more than 1EB memory.")
            )
        raise torch.OutOfMemoryError(self._out_of_memory(nbytes))

    def change(self, before: int, after: int) -> None:
        """Count a storage of ``after`` bytes instead of ``before``; 0 is none.

        Raises:
            torch.OutOfMemoryError: as :meth:`check`; nothing is counted.
        """
        with self.lock:
            more = after - before
            if more > 0:
                held = self.bytes.now + more
                if held > self.limit or (faults.asked and faults.allocates(held)):
                    self.refuse(more)
            self.used_here = True
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
            allowed = f"{_human(self.limit)} allowed to this process; "
        of = "The capacity is TDEV_SIM_MEMORY (bytes for each device)."
        if self.backing < self.total:
            of = f"The capacity is the profile's; this host gives {_human(self.backing)} of it (TDEV_SIM_MEMORY sets both)."
        return no_memory(
            f"sim:{self.index}",
            f"Tried to allocate {_human(nbytes)}. GPU {self.index} has a total capacity of "
            f"{_human(self.total)} of which {_human(max(free, 0))} is free. {allowed}Of the allocated "
            f"memory {_human(self.allocated)} is held by live tensors. {of}",
        )


def _human(nbytes: int) -> str:
    """Word a size as torch's allocator does: the greatest unit that the size exceeds, two decimals.

    Source: ``format_size`` in ``c10/cuda/CUDACachingAllocator.cpp``.
    """
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if nbytes > size:
            return f"{nbytes / size:.2f} {unit}"
    return f"{nbytes} bytes"


class Block:
    """``nbytes`` counted in ``pool`` until this object dies."""

    __slots__ = ("address", "nbytes", "pool", "storage")

    def __init__(self, pool: Pool, nbytes: int) -> None:
        self.nbytes = 0
        self.address = 0  # as it was told to who traces
        self.pool = pool
        self.storage: weakref.ref[torch.UntypedStorage] | None = None
        pool.change(0, nbytes)
        self.nbytes = nbytes

    def resize(self, nbytes: int) -> None:
        """Count ``nbytes`` instead.

        Raises:
            torch.OutOfMemoryError: they do not fit; the count stays.
        """
        self.pool.change(self.nbytes, nbytes)
        self.nbytes = nbytes

    def __del__(self) -> None:
        self.pool.change(self.nbytes, 0)
        if self.address:
            tracing.tell("MemoryDeallocation", self.address)


_native: Any = None
"""The library of the native kernels, where it is loaded."""
_makes_whole = False
"""Whether :func:`adopt_whole` can."""
_pools: list[Pool] = []
_settled = 0
"""How many of them the program sees; 0: none has been used yet."""
_devices: list[torch.device] = []
_indices: dict[torch.device, int] = {}
_current = threading.local()


def configure(devices: int, total: int, backing: int | None = None, native: Any = None) -> None:
    """Make the pools: ``devices`` of ``total`` bytes each, of which the host can give ``backing`` (None: all).

    ``native`` is the library of the native kernels, which counts what it makes itself.
    """
    global _native, _settled, _makes_whole
    _native, _settled = native, 0
    _makes_whole = native is None and torch_api.makes_whole_tensors
    _pools[:] = [Pool(index, total, backing or total) for index in range(devices)]


def name_devices() -> None:
    """Make what :func:`device` returns; once torch knows the device type."""
    _devices[:] = [torch.device("sim", index) for index in range(len(_pools))]
    _indices.clear()
    _indices.update((device, index) for index, device in enumerate(_devices))


def pool(index: int) -> Pool:
    """Return the pool of device ``index``.

    Raises:
        RuntimeError: there is no such device, worded as CUDA does.
    """
    if not 0 <= index < (_settled or device_count()):
        raise RuntimeError(
            f"sim error: invalid device ordinal (sim:{index} was asked for and there are {device_count()}; "
            f"{visible.more(len(_pools))} to have more)"
        )
    return _pools[index]


def device_count() -> int:
    """Count the devices that the program sees: those configured, or as many of them as CUDA's variable lists.

    As torch does, it is asked anew until a device has been used, and then no more.
    """
    return _settled or visible.limit(len(_pools))


def _settle() -> None:
    """Let the number of devices be what it is now: one of them is about to be used."""
    global _settled
    _settled = device_count()


def current_device() -> int:
    """Return the index of the calling thread's current device."""
    index: int = getattr(_current, "index", 0)
    return index


def set_device(index: int) -> None:
    """Make ``index`` the calling thread's current device."""
    pool(index)
    if not _settled:
        _settle()
    _current.index = index


@contextmanager
def on(index: int) -> Iterator[None]:
    """Make ``index`` the calling thread's current device for the block."""
    before = current_device()
    _current.index = index
    try:
        yield
    finally:
        _current.index = before


def device(index: int) -> torch.device:
    """Return ``torch.device("sim", index)``, always the same object; there must be such a device."""
    return _devices[index]


index_of = _indices.get
"""Return the index of a tensor's ``torch.device``; None where it is of another type."""


# Attributes that mypy cannot know on torch's class.
def known_host(storage: Any) -> torch.UntypedStorage | None:
    """Return the CPU storage that holds the bytes of the sim storage ``storage``; None where tdev has not made it."""
    host: torch.UntypedStorage | None
    if _native is not None:
        host = _native.host_of(storage)
    else:
        host = getattr(storage, "_tdev_host", None)
    return host


def host_of(storage: Any) -> torch.UntypedStorage:
    """Return the CPU storage that holds the bytes of the sim storage ``storage``.

    Raises:
        RuntimeError: the storage was made by something else than the sim device.
    """
    host = known_host(storage)
    if host is None:
        raise RuntimeError(
            "this storage on the 'sim' device has no memory of its own; it was not made by tdev"
        )
    return host


def adopt(host: Any, index: int) -> torch.UntypedStorage:
    """Return the sim storage over ``host``; a host that is new is counted on device ``index``.

    Raises:
        torch.OutOfMemoryError: the device's capacity would be exceeded.
    """
    if not _settled:
        _settle()
    block: Block | None = getattr(host, "_tdev_block", None)
    if block is None and _counts_natively(host):
        adopted: torch.UntypedStorage | None = _native.adopt(host, index)
        if adopted is None:
            pool(index).refuse(_nbytes(host))
        return adopted
    if block is None:
        block = _count_new(host, pool(index))
    elif block.storage is not None:
        known = block.storage()
        if known is not None:
            return known
    return _storage_over(host, block)


def adopt_whole(host: Any, index: int, tensor: torch.Tensor) -> torch.Tensor | None:
    """Return the sim tensor that ``tensor`` becomes, which is dense and has all of ``host`` for itself.

    None where that takes :func:`adopt`, and a tensor over what it returns.

    Raises:
        torch.OutOfMemoryError: as :func:`adopt`.
    """
    nbytes = _nbytes(host)
    if (
        index
        or not _makes_whole
        or not tensor.is_contiguous()
        or nbytes != tensor.numel() * tensor.itemsize
        or getattr(host, "_tdev_block", None) is not None
    ):
        return None
    address = host.data_ptr()
    result = torch_api.tensor_of_its_own(address, nbytes, _devices[0], tensor.dtype, tensor.size())
    if result.stride() != tensor.stride():  # a length of 1 has any
        return None
    if not _settled:
        _settle()
    storage: Any = result.untyped_storage()
    block = _count_new(host, _pools[0])
    storage._tdev_host = host
    block.storage = weakref.ref(storage)
    return result


def may_be_known(host: Any) -> bool:
    """Tell whether ``host`` may be one that was adopted before: new memory has been counted by nobody."""
    return _native is not None or getattr(host, "_tdev_block", None) is not None


def counts_natively() -> bool:
    """Tell whether the library of the native kernels is loaded, which counts memory itself."""
    return _native is not None


def _count_new(host: Any, of: Pool) -> Block:
    """Count memory that is new, and tell of it."""
    block = _count(host, of)
    if tracing.told and block.nbytes:
        block.address = host.data_ptr()
        tracing.tell("MemoryAllocation", block.address)
    return block


def _counts_natively(host: Any) -> bool:
    """Tell whether the library counts ``host``, or is to: it hears of no faults, and hides what is shared."""
    if _native is None:
        return False
    return bool(_native.counted(host)) or not (listening.anybody() or host.is_shared())


def _count(host: Any, of: Pool) -> Block:
    block: Block = Block(of, _nbytes(host))
    host._tdev_block = block
    return block


def _storage_over(host: Any, block: Block) -> torch.UntypedStorage:
    storage: Any
    if _native is not None:
        storage = _native.over(host, block.pool.index)
    else:
        storage = torch_api.storage_over(host.data_ptr(), _nbytes(host), device(block.pool.index))
        storage._tdev_host = host
    block.storage = weakref.ref(storage)
    return storage  # type: ignore[no-any-return]


def follow(storage: Any) -> bool:
    """Move a sim storage and the count along if its host's memory is another by now; tell whether it was.

    Raises:
        torch.OutOfMemoryError: it grew beyond the capacity; it is given its old size back.
    """
    host: Any = host_of(storage)
    before, after = _nbytes(storage), _nbytes(host)
    if before == after and storage.data_ptr() == host.data_ptr():
        return False
    block: Block | None = getattr(host, "_tdev_block", None)
    try:
        if block is not None:
            block.resize(after)
        else:  # the library's count went with the memory that it was around
            _count(host, pool(storage.device.index)).storage = weakref.ref(storage)
    except torch.OutOfMemoryError:
        host.resize_(before)
        if block is None:
            _count(host, pool(storage.device.index)).storage = weakref.ref(storage)
        _reseat(storage, host)
        raise
    _reseat(storage, host)
    return True


def check_follows(storage: Any) -> None:
    """Refuse, before the host's memory becomes another, where the sim storage could not follow it.

    Raises:
        RuntimeError: torch is older than 2.13, and there are no native kernels.
    """
    if _native is None:
        torch_api.check_reseat(storage)


def _reseat(storage: Any, host: Any) -> None:
    """Point a sim storage at its host's bytes where they are now."""
    if _native is not None:
        _native.reseat(storage)
    else:
        torch_api.reseat_storage(storage, host.data_ptr(), _nbytes(host))
