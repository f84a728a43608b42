"""The exact count of bytes that torch's CPU allocator has out, for ``TDEV_CPU_MEMORY=exact``.

torch's CPU allocator keeps a table of its live blocks while the flag
``caffe2_report_cpu_memory_usage`` is set (c10/core/CPUAllocator.cpp, ``ProfiledCPUMemoryReporter``), and
the sum is one field of that object. No Python function reads it, so the field is read through its
address. That is checked before it is relied on: the number must follow two allocations and their
release to the byte. Keeping the table costs about 0.4 µs for each allocation and release, 3 % of the
training step of a very small model, which is why it is not the default.

Tensors that are older than the count are not in it.
"""

from __future__ import annotations

import ctypes
import glob
import os
import sys
from collections.abc import Callable

__all__ = ["start"]

_GETTER = "_ZN3c1025profiledCPUMemoryReporterEv"
_FLAG = "FLAGS_caffe2_report_cpu_memory_usage"
# std::mutex (40 bytes), then an unordered_map (56 bytes), then the sum: libstdc++, 64-bit.
_OFFSET = 96


def start() -> Callable[[], int] | None:
    """Start counting; a function that reads the count, or None where this build has no such count."""
    if not sys.platform.startswith("linux") or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    import torch

    names = glob.glob(os.path.join(os.path.dirname(torch.__file__), "lib", "libc10*.so"))
    for name in sorted(names):
        try:
            library = ctypes.CDLL(name)
            flag = ctypes.c_bool.in_dll(library, _FLAG)
            getter = getattr(library, _GETTER)
        except (OSError, ValueError, AttributeError):
            continue
        getter.restype = ctypes.c_void_p
        getter.argtypes = []
        field = ctypes.c_uint64.from_address(getter() + _OFFSET)
        was = flag.value
        flag.value = True
        if _exact(field):
            return lambda: field.value
        flag.value = was
    return None


def _exact(field: ctypes.c_uint64) -> bool:
    import torch

    start = field.value
    first = torch.empty(12345, dtype=torch.uint8)
    one = field.value - start
    second = torch.empty(777, dtype=torch.float64)
    two = field.value - start
    del first
    three = field.value - start
    del second
    return (one, two, three, field.value) == (12345, 12345 + 6216, 6216, start)
