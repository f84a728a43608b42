"""``torch.accelerator`` as code sees it that is not rewritten, a library or torch itself."""

from __future__ import annotations

import threading

import pytest
import torch

sim = torch.sim  # type: ignore[attr-defined]


def test_memory_is_the_devices_own() -> None:
    held = torch.accelerator.memory_allocated()
    x = torch.ones(1000, device="sim")
    assert torch.accelerator.memory_allocated() == sim.memory_allocated() == held + 4000
    assert torch.accelerator.memory_reserved() >= held + 4000
    y = torch.ones(10, device="sim:1")
    assert torch.accelerator.memory_allocated(1) == torch.accelerator.memory_allocated(y.device)
    del x
    assert torch.accelerator.memory_allocated("sim:0") == held
    assert torch.accelerator.max_memory_allocated() >= held + 4000
    torch.accelerator.reset_peak_memory_stats()
    assert torch.accelerator.max_memory_allocated() == held
    stats = torch.accelerator.memory_stats()
    assert stats["allocation.all.freed"] > 0
    torch.accelerator.reset_accumulated_memory_stats()
    assert torch.accelerator.memory_stats()["allocation.all.freed"] == 0
    torch.accelerator.empty_cache()
    if hasattr(torch.accelerator, "empty_host_cache"):  # newer than torch 2.11
        torch.accelerator.empty_host_cache()  # type: ignore[attr-defined,unused-ignore]
    free, total = torch.accelerator.get_memory_info()
    assert (free, total) == sim.mem_get_info() and free == total - held


def test_the_current_device_is_the_devices_own() -> None:
    torch.accelerator.set_device_index(1)
    assert torch.accelerator.current_device_index() == sim.current_device() == 1
    assert torch.ones(1, device="sim").device.index == 1
    with torch.accelerator.device_index(0):
        assert sim.current_device() == 0
    assert sim.current_device() == 1
    seen: list[int] = []
    thread = threading.Thread(target=lambda: seen.append(torch.accelerator.current_device_index()))
    thread.start()
    thread.join()
    assert seen == [0]  # it is the thread's


def test_waiting() -> None:
    torch.accelerator.synchronize()
    torch.accelerator.synchronize("sim:1")
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.accelerator.synchronize(7)
    with pytest.raises(RuntimeError, match="invalid device ordinal"):
        torch.accelerator.set_device_index(7)
