"""Memory numbers where torch, MLX or the simulated device does the counting."""

from __future__ import annotations

import sys
from collections import OrderedDict
from types import SimpleNamespace
from unittest import mock

import pytest
import torch

from tdev_core.accelerator import Counted
from tdev_core.accelerators import queues, streams
from tdev_core.backend import Backend
from tdev_core.cuda.memory import allocator
from tdev_core.cuda.memory import statistics as memory_stats
from tdev_core.cuda.memory import usage as memory
from tdev_core.metrics.watermark import Tally


@pytest.fixture
def on(monkeypatch):
    def switch(backend: Backend) -> mock.MagicMock:
        fake = mock.MagicMock()
        for module in (memory, memory_stats, queues, allocator):
            if hasattr(module, "current"):
                monkeypatch.setattr(module, "current", lambda: backend)
            if hasattr(module, "accelerator"):
                monkeypatch.setattr(module, "accelerator", lambda: fake)
        monkeypatch.setattr(memory, "device_index", lambda spec: 0)
        fake.type = backend.value
        fake.allocated.return_value = 100
        fake.peak.return_value = 150
        fake.counted.return_value = Counted(Tally(100, 150), Tally(2, 3), ooms=4)
        fake.total.return_value = 1000
        fake.free.return_value = 900
        return fake

    return switch


def test_mps_answers_through_torch(on):
    on(Backend.MPS)
    flat = OrderedDict({"allocated_bytes.all.current": 7, "num_ooms": 1})
    with (
        mock.patch.object(torch.mps, "current_allocated_memory", autospec=True, return_value=11),
        mock.patch.object(torch.mps, "driver_allocated_memory", autospec=True, return_value=22),
        mock.patch.object(torch.mps, "empty_cache", autospec=True) as empty,
        mock.patch.object(torch.mps, "set_per_process_memory_fraction", autospec=True) as limit,
        mock.patch.object(torch.mps, "synchronize", autospec=True) as wait,
        mock.patch.object(
            torch.accelerator, "max_memory_allocated", autospec=True, return_value=33
        ),
        mock.patch.object(torch.accelerator, "max_memory_reserved", autospec=True, return_value=44),
        mock.patch.object(torch.accelerator, "get_memory_info", autospec=True, return_value=(5, 9)),
        mock.patch.object(torch.accelerator, "memory_stats", autospec=True, return_value=flat),
        mock.patch.object(torch.accelerator, "reset_peak_memory_stats", autospec=True) as reset,
        mock.patch.object(
            torch.accelerator, "reset_accumulated_memory_stats", autospec=True
        ) as forget,
    ):
        assert (memory.allocated(), memory.reserved()) == (11, 22)
        assert (memory.peak(), memory.peak_reserved()) == (33, 44)
        assert memory.info() == (5, 9) and memory.device_used() == 4
        assert memory.stats() == flat
        assert memory.stats_nested() == {"allocated_bytes": {"all": {"current": 7}}, "num_ooms": 1}
        assert "7 B" in memory.summary() and "backend mps" in memory.summary()
        memory.reset_peak()
        memory.reset_accumulated()
        memory.empty_cache()
        memory.set_fraction(0.5)
        queues.drain(0)
        reset.assert_called_once_with()
        forget.assert_called_once_with()
        empty.assert_called_once_with()
        limit.assert_called_once_with(0.5)
        wait.assert_called_once_with()
    memory._fractions.clear()


def test_a_stream_on_mps_is_asked_through_an_event(monkeypatch):
    stream = streams.Stream()
    monkeypatch.setattr("tdev_core.accelerators.streams.current", lambda: Backend.MPS)
    with mock.patch.object(torch.mps, "Event", autospec=True) as event:
        event.return_value.query.return_value = False
        assert stream.query() is False
        event.return_value.record.assert_called_once_with()


def test_sim_answers_through_its_accelerator(on):
    fake = on(Backend.SIM)
    assert memory.allocated() == memory.reserved() == 100
    assert memory.peak() == memory.peak_reserved() == 150
    assert memory.info() == (900, 1000) and memory.device_used() == 100
    stats = memory.stats()
    assert stats["allocated_bytes.all.current"] == 100
    assert stats["reserved_bytes.all.peak"] == 150 and len(stats) > 100
    assert stats["num_ooms"] == 4 and stats["allocation.all.peak"] == 3
    memory.reset_peak()
    fake.reset_peak.assert_called_once_with(0)
    memory.reset_accumulated()
    fake.reset_totals.assert_called_once_with(0)


def test_mlx_counts_its_cache_as_reserved(on, monkeypatch):
    on(Backend.MLX)
    core = SimpleNamespace(
        get_cache_memory=lambda: 40,
        clear_cache=mock.Mock(),
        set_memory_limit=mock.Mock(),
        set_cache_limit=mock.Mock(return_value=77),
    )
    package = SimpleNamespace(core=core)
    monkeypatch.setitem(sys.modules, "mlx", package)
    monkeypatch.setitem(sys.modules, "mlx.core", core)
    memory._reserved_mark.cache_clear()
    try:
        assert memory.allocated() == 100 and memory.reserved() == 140
        assert memory.peak_reserved() == 150  # the device's own peak is higher than what was seen
        core.get_cache_memory = lambda: 90
        assert memory.peak_reserved() == 190
        core.get_cache_memory = lambda: 40
        assert memory.peak_reserved() == 190
        memory.reset_peak()
        assert memory.peak_reserved() == 150
        memory.empty_cache()
        core.clear_cache.assert_called_once_with()
        memory.set_fraction(0.25)
        core.set_memory_limit.assert_called_once_with(250)
        with allocator.disabled(), allocator.disabled():  # switched off once
            core.set_cache_limit.assert_called_once_with(0)
        allocator.enable()
        assert core.set_cache_limit.mock_calls == [mock.call(0), mock.call(77)]
    finally:
        memory._reserved_mark.cache_clear()
        memory._fractions.clear()
        allocator._cache_limit = None


def test_a_mark_reads_the_device_that_it_was_made_for(on):
    fake = on(Backend.SIM)
    memory._reserved_mark.cache_clear()
    try:
        mark = memory._reserved_mark(0)
        on(Backend.MPS).allocated.return_value = 1
        fake.allocated.return_value = 700
        with mock.patch.object(torch.mps, "driver_allocated_memory", autospec=True) as driver:
            assert mark.peak() == 700
        driver.assert_not_called()
    finally:
        memory._reserved_mark.cache_clear()


def test_the_real_mlx_has_these_functions():
    mx = pytest.importorskip("mlx.core", reason="MLX is an extra")
    for name in (
        "get_cache_memory",
        "clear_cache",
        "set_memory_limit",
        "set_cache_limit",
        "device_info",
        "default_device",
    ):
        assert callable(getattr(mx, name)), name
