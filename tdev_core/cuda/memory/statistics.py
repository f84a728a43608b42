"""Arranges what was counted as ``torch.cuda.memory_stats`` in its full key set, and as a table.

Every key that torch documents is there, so that programs can index the dictionary. A number that the
backend does not count is 0, which is also how torch reports what its ``cudaMallocAsync`` allocator
does not count. On ``cpu``:

* ``allocated_bytes``, ``active_bytes``, ``requested_bytes``: bytes in use on the heap. ``large_pool`` is
  what glibc keeps in blocks with a mapping of their own (128 KiB and more), ``small_pool`` the rest.
* ``reserved_bytes``: what the heap has from the system; ``inactive_split_bytes``: the unused part of it.
* ``segment.large_pool``: number of such mappings; ``inactive_split``: number of free pieces.
* ``*.allocated`` and ``*.freed``: sums of the rises and falls between readings, a lower bound.
* the numbers of allocations are not counted: 0.

On ``sim`` bytes, allocations and refusals (``num_ooms``) are counted as they happen, for the whole.

Source: ``torch.cuda.memory_stats`` documentation, torch 2.13.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from tdev_core.accelerator import Counted
from tdev_core.accelerators.cpu.heap import Reading
from tdev_core.metrics import units
from tdev_core.metrics.watermark import Tally

__all__ = ["flatten", "host_nested", "of_device", "of_dotted", "of_heap", "table"]

_POOLS = ("all", "small_pool", "large_pool")
_COUNTERS = (
    "num_alloc_retries",
    "num_device_alloc",
    "num_device_free",
    "num_oom_rejections",
    "num_ooms",
    "num_sync_all_streams",
    "max_split_size",
)
_BYTES = ("allocated_bytes", "active_bytes", "requested_bytes")
_POOLED = (
    "allocation",
    "segment",
    "active",
    "inactive_split",
    "allocated_bytes",
    "reserved_bytes",
    "active_bytes",
    "inactive_split_bytes",
    "requested_bytes",
)


def _stat(now: int = 0, peak: int = 0, risen: int = 0, fallen: int = 0) -> dict[str, int]:
    return {"current": now, "peak": max(peak, now), "allocated": risen, "freed": fallen}


def _of(tally: Tally) -> dict[str, int]:
    return _stat(tally.now, tally.peak, tally.risen, tally.fallen)


def _pools(whole: dict[str, int], large: int = 0) -> dict[str, dict[str, int]]:
    """Split a statistic by pool. Peaks and totals are known for the whole only."""
    return {
        "all": whole,
        "small_pool": _stat(max(whole["current"] - large, 0)),
        "large_pool": _stat(large),
    }


def _empty() -> dict[str, Any]:
    result: dict[str, Any] = {name: 0 for name in _COUNTERS}
    result.update({name: {pool: _stat() for pool in _POOLS} for name in _POOLED})
    result["oversize_allocations"] = _stat()
    result["oversize_segments"] = _stat()
    result["reserved_bytes_by_private_pools"] = {}
    return result


def of_heap(used: Tally, reserved: Tally, look: Reading) -> dict[str, Any]:
    """Nest the statistics of the ``cpu`` backend.

    Args:
        used: bytes in use on the heap.
        reserved: bytes that the heap has from the system.
        look: the heap's reading now.
    """
    result = _empty()
    for name in _BYTES:
        result[name] = _pools(_of(used), look.large)
    result["reserved_bytes"] = _pools(_of(reserved), look.large)
    result["inactive_split_bytes"] = _pools(_stat(max(look.reserved - look.in_use, 0)))
    result["segment"] = _pools(_stat(look.large_blocks), look.large_blocks)
    result["inactive_split"] = _pools(_stat(look.free_blocks))
    return result


def of_device(counted: Counted, reserved: int, peak_reserved: int) -> dict[str, Any]:
    """Nest the statistics of a device whose allocator has ``counted``, and reserved so many bytes."""
    result = _empty()
    for name in _BYTES:
        result[name] = _pools(_of(counted.bytes))
    for name in ("allocation", "active"):
        result[name] = _pools(_of(counted.blocks))
    result["reserved_bytes"] = _pools(_stat(reserved, peak_reserved))
    result["num_ooms"] = counted.ooms
    result["num_sync_all_streams"] = counted.syncs
    result["num_device_alloc"] = counted.blocks.risen
    result["num_device_free"] = counted.blocks.fallen
    return result


def of_dotted(stats: Mapping[str, Any]) -> dict[str, Any]:
    """Nest statistics that have dotted keys, as torch's own for ``mps`` have: undo :func:`flatten`."""
    result: dict[str, Any] = {}
    for key, value in stats.items():
        part = result
        *above, last = key.split(".")
        for name in above:
            part = part.setdefault(name, {})
        part[last] = value
    return result


def host_nested() -> dict[str, Any]:
    """Nest the statistics of pinned host memory: all 0, for there is none on these backends."""
    times = {"total": 0, "max": 0, "min": 0, "count": 0, "avg": 0}
    result: dict[str, Any] = {
        name: _stat()
        for name in ("allocations", "allocated_bytes", "active_requests", "active_bytes")
    }
    result.update(num_host_alloc=0, num_host_free=0)
    result.update(host_alloc_time=dict(times), host_free_time=dict(times))
    return result


def flatten(stats: Mapping[Any, Any]) -> OrderedDict[str, Any]:
    """Give nested statistics dotted keys in one dictionary, sorted."""
    result: dict[str, Any] = {}

    def walk(prefix: str, part: Any) -> None:
        if not isinstance(part, Mapping):
            result[prefix] = part
            return
        for key, value in part.items():
            name = "_".join(map(str, key)) if isinstance(key, tuple) else str(key)
            walk(f"{prefix}.{name}" if prefix else name, value)

    walk("", stats)
    return OrderedDict(sorted(result.items()))


_ROWS = (
    ("allocated_bytes", "Allocated memory", True),
    ("active_bytes", "Active memory", True),
    ("requested_bytes", "Requested memory", True),
    ("reserved_bytes", "Reserved memory", True),
    ("inactive_split_bytes", "Reserved, not in use", True),
    ("allocation", "Allocations", False),
    ("active", "Active allocations", False),
    ("segment", "Segments", False),
    ("inactive_split", "Free pieces", False),
)


def table(stats: Mapping[str, Any], title: str, abbreviated: bool) -> str:
    """Write ``stats`` (flat) as a table, with one line for each pool unless ``abbreviated``."""
    width = 77
    rule, double = "|" + "-" * width + "|", "|" + "=" * width + "|"

    def line(name: str, cells: list[str]) -> str:
        return f"| {name:<22} |" + "|".join(f"{cell:>12}" for cell in cells) + " |"

    lines = [double, f"|{title:^{width}}|", rule]
    lines.append(
        f"| out-of-memory errors: {stats.get('num_ooms', 0):<12}"
        f"allocation retries: {stats.get('num_alloc_retries', 0):<22}|"
    )
    lines += [double, line("Metric", ["now", "peak", "total up", "total down"])]
    for key, name, is_size in _ROWS:
        lines.append(rule)
        for pool in _POOLS[:1] if abbreviated else _POOLS:
            label = name if pool == "all" else f"  in {pool.replace('_', ' ')}"
            values = [
                stats.get(f"{key}.{pool}.{part}", 0)
                for part in ("current", "peak", "allocated", "freed")
            ]
            lines.append(line(label, [units.size(v) if is_size else str(v) for v in values]))
    lines.append(double)
    return "\n".join(lines) + "\n"
