"""Has the C library keep what a device frees, on Linux, where it would give each array's pages back to the system.

There MLX takes every array from ``malloc`` and has no cache of its own (``mlx/backend/no_gpu/allocator.cpp``), and under
``sim`` lies what torch's CPU allocator takes there. glibc maps what is larger than 128 KiB by itself at first, and trims
its heap as soon as that much (later: as twice what it no longer maps) is free at the end: intermediate results then have
their pages zeroed and mapped anew, page by page, which can take longer than the arithmetic on them.
``empty_cache()`` gives back what is kept.
"""

from __future__ import annotations

import ctypes
import os
import sys

__all__ = ["keep_what_is_freed"]

# malloc.h of glibc
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_MAPPED_FROM = 32 << 20  # the largest that glibc takes (HEAP_MAX_SIZE / 2)
_KEPT = 256 << 20
_CHOSEN_BY_THE_USER = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "GLIBC_TUNABLES")


def keep_what_is_freed() -> bool:
    """Set glibc's two thresholds for this process, unless the environment has; tells whether that was done."""
    if sys.platform != "linux" or any(name in os.environ for name in _CHOSEN_BY_THE_USER):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):  # another C library, which has rules of its own
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, _MAPPED_FROM) and mallopt(_M_TRIM_THRESHOLD, _KEPT))
