"""Count the bytes that the process's C heap holds, which is behind memory numbers on the CPU.

Tensors on the CPU live in the C heap, beside whatever else the process keeps there. torch has no
counter of its own that costs nothing, so the heap's is used, from a baseline taken when tdev was imported:

* Linux with glibc 2.33 or newer: ``mallinfo2()`` (a third of a microsecond).
* macOS: ``malloc_zone_statistics()`` over all zones.
* elsewhere: the private bytes of the process, from psutil or ``/proc/self/statm``. Memory that was
  freed but not yet returned to the system still counts there.

A counter that does not move when a tensor is allocated (another malloc is preloaded) is passed over.

The numbers are therefore approximate: arrays of NumPy and other C libraries count as well, and what the heap
rounds up; Python's own small objects do not, they live outside the C heap. Tensors alone are counted, to the byte, by
the ``sim`` backend, and listed by ``torch.profiler.profile(profile_memory=True)``.

Nothing here imports torch until a counter is chosen.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

__all__ = ["Reading", "mark", "read", "release", "source"]


class Reading(NamedTuple):
    """One look at the heap. Bytes, except for the counts; what a counter cannot tell is 0."""

    in_use: int
    """Held by live allocations."""
    large: int = 0
    """Of these, in blocks that have a mapping of their own."""
    reserved: int = 0
    """Bytes that the heap has from the system, used or not."""
    large_blocks: int = 0
    """Number of blocks that have a mapping of their own."""
    free_blocks: int = 0
    """Number of free pieces that lie between the used ones."""

    def less(self, base: Reading) -> Reading:
        """Return what came on top of ``base``; never negative.

        Counts are those of now: which of the blocks were there at the baseline cannot be told. Large
        blocks are taken to be the newer ones, as tensors are.
        """
        in_use = max(self.in_use - base.in_use, 0)
        return Reading(
            in_use=in_use,
            large=min(self.large, in_use),
            # What the heap had from the system before, and has put to use since, is no growth of it.
            reserved=max(self.reserved - base.reserved, in_use),
            large_blocks=self.large_blocks,
            free_blocks=self.free_blocks,
        )


class _Mallinfo2(ctypes.Structure):
    # malloc.h of glibc 2.33
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()
        )
    ]


def _glibc() -> Callable[[], Reading] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError):
        return None
    mallinfo2.restype = _Mallinfo2
    mallinfo2.argtypes = []

    def look() -> Reading:
        info = mallinfo2()
        return Reading(
            in_use=info.uordblks + info.hblkhd,
            large=info.hblkhd,
            reserved=info.arena + info.hblkhd,
            large_blocks=info.hblks,
            free_blocks=info.ordblks,
        )

    return look


class _MallocStatistics(ctypes.Structure):
    # malloc/malloc.h of macOS
    _fields_ = [
        ("blocks_in_use", ctypes.c_uint),
        ("size_in_use", ctypes.c_size_t),
        ("max_size_in_use", ctypes.c_size_t),
        ("size_allocated", ctypes.c_size_t),
    ]


def _macos() -> Callable[[], Reading] | None:
    if sys.platform != "darwin":
        return None
    try:
        statistics = ctypes.CDLL(None).malloc_zone_statistics
    except (OSError, AttributeError):
        return None
    statistics.restype = None
    statistics.argtypes = [ctypes.c_void_p, ctypes.POINTER(_MallocStatistics)]

    def look() -> Reading:
        result = _MallocStatistics()
        statistics(None, ctypes.byref(result))  # no zone: the sum over all
        return Reading(in_use=result.size_in_use, reserved=result.size_allocated)

    return look


def _statm() -> Callable[[], Reading] | None:
    """Resident bytes that are the process's own, from the kernel (any Linux, musl too)."""
    path = "/proc/self/statm"
    if not os.path.exists(path):
        return None
    page = os.sysconf("SC_PAGE_SIZE")

    def look() -> Reading:
        with open(path, "rb") as file:
            _, resident, shared = file.read().split()[:3]
        held = (int(resident) - int(shared)) * page
        return Reading(in_use=held, reserved=held)

    return look


def _psutil() -> Callable[[], Reading] | None:
    """Private bytes of the process (Windows), or its unique set where that is what psutil knows."""
    try:
        import psutil
    except ImportError:
        return None
    process = psutil.Process()

    def look() -> Reading:
        info = process.memory_info()
        held = int(getattr(info, "private", 0) or info.rss)
        return Reading(in_use=held, reserved=held)

    return look


def _follows(look: Callable[[], Reading]) -> bool:
    """Tell whether the counter moves with a tensor of 8 MiB that is allocated, touched and freed."""
    import torch

    size = 8 << 20
    before = look().in_use
    probe = torch.ones(size, dtype=torch.uint8)
    during = look().in_use
    del probe
    return during - before >= size * 3 // 4


@lru_cache(maxsize=1)
def _counter() -> tuple[str, Callable[[], Reading]]:
    for name, make in (
        ("mallinfo2", _glibc),
        ("malloc_zone_statistics", _macos),
        ("statm", _statm),
        ("psutil", _psutil),
    ):
        found = make()
        if found is not None and _follows(found):
            return name, found
    return "none", lambda: Reading(in_use=0)


def source() -> str:
    """Tell which counter answers: ``mallinfo2``, ``malloc_zone_statistics``, ``statm``, ``psutil``, or ``none``
    where the platform has no counter that follows tensors."""
    return _counter()[0]


_bases: dict[str, Reading] = {}


def mark() -> None:
    """Take the baseline. tdev does this once, when it is imported; later calls change nothing.

    Takes microseconds: which counter is to be trusted is found out at the first :func:`read`.
    """
    if _bases:
        return
    for name, make in (("mallinfo2", _glibc), ("malloc_zone_statistics", _macos)):
        look = make()
        if look is not None:
            _bases[name] = look()


def read() -> Reading:
    """Return what the heap holds beyond the baseline."""
    mark()
    name, look = _counter()
    if name not in _bases:
        _bases[name] = look()
    return look().less(_bases[name])


def release() -> None:
    """Give the heap's free pages back to the system, where the C library can be asked to."""
    try:
        library = ctypes.CDLL(None)
        if sys.platform == "darwin":
            relieve = library.malloc_zone_pressure_relief
            relieve.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
            relieve.restype = ctypes.c_size_t
            relieve(None, 0)
        else:
            trim = library.malloc_trim
            trim.argtypes = [ctypes.c_size_t]
            trim(0)
    except (OSError, AttributeError, TypeError):
        return  # no such function: what is free stays with the heap, and reserved() shows it
