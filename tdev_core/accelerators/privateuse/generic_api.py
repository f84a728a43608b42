"""Answer what ``torch.accelerator`` asks of a device of ours, for code that is not rewritten: libraries, and torch itself.

torch's functions there call into C++, which asks a backend's allocator and guard. A device that is written in Python can
register neither (``torch._C._acc`` offers three questions of the hooks, and a guard that always answers index 0), so
these bindings are answered here instead, once the device is registered. What torch asks beyond them (``get_device_capability``,
snapshots) stays an error of torch's own.
"""

from __future__ import annotations

from typing import Any

from tdev_core.accelerator import Accelerator
from tdev_core.accelerators.privateuse import torch_api
from tdev_core.metrics.watermark import Tally

__all__ = ["install", "statistics"]


def install(accelerator: Accelerator) -> None:
    """Have ``torch.accelerator`` answer by ``accelerator``; when the device is registered."""

    def index_of(index: int) -> int:
        return accelerator.current_device() if index < 0 else index

    def exchange(index: int) -> int:
        before = accelerator.current_device()
        if index >= 0:
            accelerator.set_device(index)
        return before

    def set_index(index: int) -> None:
        exchange(index)

    def synchronize(index: int) -> None:
        accelerator.synchronize(index_of(index))

    def stats(index: int) -> dict[str, Any]:
        return statistics(accelerator, index_of(index))

    def reset_totals(index: int) -> None:
        accelerator.reset_totals(index_of(index))

    def reset_peak(index: int) -> None:
        accelerator.reset_peak(index_of(index))

    def memory_info(index: int) -> tuple[int, int]:
        return accelerator.free(index_of(index)), accelerator.total(index_of(index))

    def empty_cache() -> None:
        """Do nothing: freed memory goes back at once."""

    def empty_host_cache() -> None:
        """Do nothing: the host's memory is not cached. torch asks an allocator that nobody has registered, and crashes."""

    def initialized() -> bool:
        return True

    torch_api.answer_bindings(
        {
            "_accelerator_emptyCache": empty_cache,
            "_accelerator_exchangeDevice": exchange,
            "_accelerator_getDeviceIndex": accelerator.current_device,
            "_accelerator_getDeviceStats": stats,
            "_accelerator_getMemoryInfo": memory_info,
            "_accelerator_isAllocatorInitialized": initialized,
            "_accelerator_maybeExchangeDevice": exchange,
            "_accelerator_resetAccumulatedStats": reset_totals,
            "_accelerator_resetPeakStats": reset_peak,
            "_accelerator_setDeviceIndex": set_index,
            "_accelerator_synchronizeDevice": synchronize,
        }
    )
    torch_api.answer_bindings(
        {"_accelerator_emptyHostCache": empty_host_cache}, where_there_are=True
    )


def statistics(accelerator: Accelerator, index: int) -> dict[str, Any]:
    """Return what ``torch.accelerator.memory_stats`` flattens; nothing is cached, so reserved is allocated."""
    counted = accelerator.counted(index)
    of_bytes, of_blocks = _metrics(counted.bytes), _metrics(counted.blocks)
    return {
        "allocation": of_blocks, "allocated_bytes": of_bytes, "active": of_blocks, "active_bytes": of_bytes,
        "requested_bytes": of_bytes, "segment": of_blocks, "reserved_bytes": of_bytes,
        "inactive_split": _metrics(Tally()), "inactive_split_bytes": _metrics(Tally()),
        "num_alloc_retries": 0, "num_ooms": counted.ooms, "num_sync_all_streams": counted.syncs,
        "num_device_alloc": counted.blocks.risen, "num_device_free": counted.blocks.fallen,
    }  # fmt: skip


def _metrics(tally: Tally) -> dict[str, dict[str, int]]:
    """Name a tally as torch does. There is one pool."""
    return {
        "all": {
            "current": tally.now, "peak": tally.peak, "allocated": tally.risen, "freed": tally.fallen,
        }
    }  # fmt: skip
