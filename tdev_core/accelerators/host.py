"""Facts about the host: its name, cores, caches and memory, from the operating system.

What the system does not tell is None or 0, never a guess.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import sys
import uuid
from functools import lru_cache
from pathlib import Path

__all__ = [
    "cache_bytes",
    "clock_mhz",
    "cores",
    "identifier",
    "memory_available",
    "memory_total",
    "name",
]


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


def _sysctl(key: str) -> str:
    """macOS's own table of facts; empty elsewhere."""
    if sys.platform != "darwin":
        return ""
    try:
        done = subprocess.run(
            ["/usr/sbin/sysctl", "-n", key], capture_output=True, text=True, timeout=5, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip()


@lru_cache(maxsize=1)
def name() -> str:
    """Return what the processor calls itself, for example ``Intel(R) Xeon(R) Processor @ 2.60GHz``."""
    for line in _text("/proc/cpuinfo").splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() == "model name" and value.strip():
            return value.strip()
    return (
        _sysctl("machdep.cpu.brand_string")
        or platform.processor()
        or platform.machine()
        or "unknown processor"
    )


def cores() -> int:
    """Processors that this process may run on."""
    affinity = getattr(os, "sched_getaffinity", None)
    if affinity is not None:
        return len(affinity(0))
    return os.cpu_count() or 1


@lru_cache(maxsize=1)
def cache_bytes() -> int:
    """Size of one level 2 cache; 0 where the system does not say."""
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        if _text(f"{index}/level") == "2":
            size = _text(f"{index}/size")
            units = {"K": 1 << 10, "M": 1 << 20}
            if size and size[-1] in units and size[:-1].isdigit():
                return int(size[:-1]) * units[size[-1]]
    text = _sysctl("hw.perflevel0.l2cachesize") or _sysctl("hw.l2cachesize")
    if text.isdigit():
        return int(text)
    try:
        return max(os.sysconf("SC_LEVEL2_CACHE_SIZE"), 0)
    except (AttributeError, ValueError, OSError):
        return 0


def clock_mhz() -> float | None:
    """Current processor clock in MHz, mean over cores; None where there is no such sensor."""
    try:
        import psutil

        frequency = psutil.cpu_freq()
    except (ImportError, OSError, AttributeError, NotImplementedError, RuntimeError):
        return None
    return float(frequency.current) if frequency and frequency.current else None


@lru_cache(maxsize=1)
def identifier() -> uuid.UUID:
    """Return a UUID that stays the same for this machine; derived, the machine's own id is not given away."""
    seed = (
        _text("/etc/machine-id")
        or _sysctl("kern.uuid")
        or f"{platform.node()}-{name()}-{platform.machine()}"
    )
    return uuid.UUID(bytes=hashlib.sha256(b"tdev:" + seed.encode()).digest()[:16])


def _cgroup(*names: str) -> int | None:
    """Return the first of the container's memory files that holds a number."""
    for entry in names:
        text = _text(f"/sys/fs/cgroup/{entry}")
        if text.isdigit():
            return int(text)
    return None


def _physical() -> tuple[int, int]:
    """Total and available bytes of the machine."""
    lines = dict(line.split(":", 1) for line in _text("/proc/meminfo").splitlines() if ":" in line)
    if "MemTotal" in lines and "MemAvailable" in lines:
        return (
            int(lines["MemTotal"].split()[0]) * 1024,
            int(lines["MemAvailable"].split()[0]) * 1024,
        )
    try:
        import psutil

        memory = psutil.virtual_memory()
        return int(memory.total), int(memory.available)
    except ImportError:
        pass
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        total = os.sysconf("SC_PHYS_PAGES") * page
    except (AttributeError, ValueError, OSError):
        return 0, 0
    try:
        return total, os.sysconf("SC_AVPHYS_PAGES") * page
    except (ValueError, OSError):
        return total, total


def memory_total() -> int:
    """Physical memory in bytes, or the container's limit where that is lower."""
    total = _physical()[0]
    limit = _cgroup("memory.max", "memory/memory.limit_in_bytes")
    return min(total, limit) if limit and total else total or (limit or 0)


def memory_available() -> int:
    """Return bytes that could be allocated without swapping, at most what the container's limit leaves."""
    available = _physical()[1]
    limit = _cgroup("memory.max", "memory/memory.limit_in_bytes")
    used = _cgroup("memory.current", "memory/memory.usage_in_bytes")
    if limit is not None and used is not None:
        available = min(available, max(limit - used, 0))
    return available
