"""Raw allocations, allocator switches, pools and memory snapshots on the CPU."""

from __future__ import annotations

import ctypes
import ctypes.util
import os
import pickle
import sys

import pytest
import torch

from tdev_core.accelerators import streams
from tdev_core.cuda.memory import allocator, history, pools, usage


def test_raw_memory_can_be_written_and_freed():
    before = usage.allocated()
    address = allocator.alloc(1 << 20, device="cuda:0", stream=streams.Stream())
    ctypes.memset(address, 7, 1 << 20)
    assert ctypes.string_at(address + 1000, 3) == b"\7\7\7"
    assert usage.allocated() - before >= 1 << 20
    allocator.delete(address)
    assert usage.allocated() - before <= 64_000
    with pytest.raises(RuntimeError, match="was not allocated by caching_allocator_alloc"):
        allocator.delete(address)


def test_raw_memory_of_no_size_and_bad_arguments():
    assert allocator.alloc(0, stream=0) == 0
    allocator.delete(0)
    with pytest.raises(ValueError, match="not be negative, got -1"):
        allocator.alloc(-1)
    with pytest.raises(TypeError, match="stream must be"):
        allocator.alloc(8, stream="main")


def test_the_cache_switch_is_restored():
    with allocator.disabled():
        assert allocator._enabled is False
        with allocator.disabled():
            pass
        assert allocator._enabled is False
    assert allocator._enabled is True and allocator._cache_limit is None  # MLX's is not touched
    allocator.enable(False)
    allocator.enable()
    assert allocator._enabled is True


def test_a_pluggable_allocator_is_loaded():
    name = ctypes.util.find_library("c")
    if name is None or sys.platform == "win32":
        pytest.skip("no C library to stand in for the allocator's")
    made = allocator.CUDAPluggableAllocator(name, "malloc", "free")
    assert isinstance(made, torch.cuda.memory.CUDAPluggableAllocator)
    assert all(made.allocator())
    assert all(
        allocator.XPUPluggableAllocator(
            path_to_lib_file=name, alloc_fn_name="malloc", free_fn_name="free"
        ).allocator()
    )
    with pytest.raises(AttributeError):
        allocator.CUDAPluggableAllocator(name, "no_such_function", "free")
    with pytest.raises(OSError):
        allocator.CUDAPluggableAllocator("/no/such/library.so", "malloc", "free")


def test_pools_have_identity_and_count_their_users():
    first, second = pools.MemPool(), pools.MemPool(None, use_on_oom=True, no_split=True)
    assert isinstance(first, torch.cuda.MemPool) and first.id != second.id
    assert first.use_count() == 1
    with pools.use_mem_pool(first), pools.use_mem_pool(first, device=0):
        assert first.use_count() == 3 and second.use_count() == 1
        assert torch.ones(2).sum() == 2
    with pytest.raises(KeyError), pools.use_mem_pool(first):
        raise KeyError
    assert first.use_count() == 1 and first.snapshot() == [] and first.allocator is None
    with pytest.raises(TypeError, match="must be a torch.cuda.MemPool, got int"):
        with pools.use_mem_pool(3):
            pass


@pytest.fixture
def _recording():
    yield
    history.record(None, clear_history=True)


def test_a_snapshot_lists_live_storages():
    tensor = torch.ones(3_000_000, dtype=torch.uint8)
    view = tensor[5:]
    mine = [s for s in history.segments() if s["address"] == tensor.data_ptr()]
    assert len(mine) == 1 and view.numel()
    assert mine[0]["total_size"] == 3_000_000 and mine[0]["segment_type"] == "large"
    assert mine[0]["blocks"][0]["state"] == "active_allocated"
    sizes = [segment["total_size"] for segment in history.segments()]
    assert sizes == sorted(sizes, reverse=True)
    assert history.segments(mempool_id=(0, 7)) == []
    address = tensor.data_ptr()
    del tensor, view
    assert all(segment["address"] != address for segment in history.segments())


def test_recording_keeps_stacks_and_events(_recording):
    history.record()
    tensor = torch.zeros(123_457)
    address = tensor.data_ptr()
    segment = next(s for s in history.segments() if s["address"] == address)
    assert any(
        frame["filename"] == __file__ and frame["name"].startswith("test_recording")
        for frame in segment["frames"]
    )
    del tensor
    (events,) = history.snapshot()["device_traces"]
    mine = [e["action"] for e in events if e["addr"] == address and e["size"] == 4 * 123_457]
    assert mine == ["alloc", "free_requested", "free_completed"]
    assert all(event["time_us"] > 0 for event in events)


def test_recording_sees_the_backward_pass(_recording):
    weight = torch.ones(1000, requires_grad=True)
    history.record()
    (weight * 2).sum().backward()
    sizes = [e["size"] for e in history.snapshot()["device_traces"][0] if e["action"] == "alloc"]
    assert sizes.count(4000) >= 2  # the product, and the gradient


def test_recording_keeps_the_latest_until_it_stops(_recording):
    """CUDA's allocator forgets them then, too (``recordHistory``): torch's own tests begin anew after each."""
    history.record(max_entries=2)
    for _ in range(5):
        torch.ones(10)
    assert len(history.snapshot()["device_traces"][0]) == 2
    history.record(None)
    torch.ones(77)
    assert history.snapshot()["device_traces"][0] == []
    history.record("state", context=None)
    tensor = torch.ones(5)
    segment = next(s for s in history.segments() if s["address"] == tensor.data_ptr())
    assert segment["frames"] == []
    with pytest.raises(ValueError, match="enabled must be"):
        history.record("some")


def test_a_snapshot_leaves_the_compilers_fake_tensors_out():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(shape_env=ShapeEnv())
    fake = mode.from_tensor(torch.ones(3, 4), static_shapes=False)
    assert fake.device.type == "cpu" and isinstance(fake.untyped_storage().nbytes(), torch.SymInt)
    # A symbolic size is not one, and may not be pickled.
    assert {type(segment["total_size"]) for segment in history.segments()} <= {int}


def test_dump_is_a_pickle_that_torchs_viewer_reads(tmp_path, _recording):
    from torch.cuda._memory_viz import Bytes, segsum, trace

    history.record()
    tensor = torch.ones(2_000_000)
    history.dump(os.fspath(tmp_path / "snapshot.pickle"))
    with open(tmp_path / "snapshot.pickle", "rb") as file:
        loaded = pickle.load(file)
    assert {"segments", "device_traces"} <= set(loaded) and tensor.numel()
    sizes = [segment["total_size"] for segment in loaded["segments"]]
    assert 8_000_000 in sizes
    total = Bytes(sum(sizes))  # whatever else this process holds
    assert f"total_allocated: {total}" in segsum(loaded)
    assert "TOTAL MEM: 7.6MiB" in trace(loaded)
