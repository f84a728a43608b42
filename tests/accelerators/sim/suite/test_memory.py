"""Bytes are counted exactly, for each device, and capacity is enforced."""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from tdev_core.accelerators.sim import memory
from tdev_core.accelerators.sim.accelerator import SimAccelerator
from tdev_core.cuda.memory import usage as memories

sim: Any = torch.sim  # type: ignore[attr-defined]


@pytest.fixture(autouse=True)
def _no_garbage() -> None:
    """What other tests have left must not be freed in the middle of a count."""
    gc.collect()


@pytest.fixture
def small() -> Iterator[memory.Pool]:
    """Device 0 with room for 1,000 bytes more."""
    gc.collect()
    pool = memory.pool(0)
    before, pool.total = pool.total, pool.allocated + 1000
    pool.fraction = 1.0  # the native kernels hear of a limit when it is set
    yield pool
    pool.total = before
    pool.fraction = 1.0


def test_live_bytes() -> None:
    gc.collect()
    before = sim.memory_allocated(0), sim.memory_allocated(1)
    x = torch.zeros(100, device="sim:0")
    y = torch.zeros(10, dtype=torch.float64, device="sim:1")
    assert sim.memory_allocated(0) - before[0] == 400
    assert sim.memory_allocated("sim:1") - before[1] == 80
    view = x[10:]
    del x
    assert sim.memory_allocated(0) - before[0] == 400
    del view, y
    assert (sim.memory_allocated(0), sim.memory_allocated(1)) == before


def test_moves_and_views_are_counted_once() -> None:
    before = sim.memory_allocated()
    x = torch.ones(50).to("sim")
    views = [x.view(5, 10), x.t() if x.dim() == 2 else x[::2], x.detach(), nn.Parameter(x), x.data]
    assert sim.memory_allocated() - before == 200
    del views, x
    assert sim.memory_allocated() == before


def test_resizing_is_counted() -> None:
    before = sim.memory_allocated()
    x = torch.zeros(10, device="sim")
    x.resize_(1000)
    assert sim.memory_allocated() - before == 4000
    x.untyped_storage().resize_(0)
    assert sim.memory_allocated() == before
    for size in (0, 400):
        x.untyped_storage().resize_(size)
        with pytest.raises(RuntimeError, match=f"resized to {size} bytes"):
            x.add_(1)
        assert x.untyped_storage().nbytes() == size
    x.untyped_storage().resize_(4000)
    x.fill_(1)
    total = x.sum().item()
    assert total == 1000 and sim.memory_allocated() - before == 4000


def test_freed_memory_is_replaced() -> None:
    """As FSDP does with its flat parameters: free the storage, then point the tensor at another."""
    before = sim.memory_allocated()
    whole = torch.arange(100.0, device="sim")
    flat = nn.Parameter(whole[:80])
    whole.untyped_storage().resize_(0)
    assert sim.memory_allocated() == before
    shard = torch.ones(20, device="sim")
    with torch.no_grad():
        flat.set_(shard)  # type: ignore[call-overload]
        flat.set_(flat)  # type: ignore[call-overload]
    shard[0] = 7
    assert flat[0].item() == 7 and flat.shape == (20,)
    del whole
    assert sim.memory_allocated() - before == 80


def test_gradients_and_graphs_are_released() -> None:
    gc.collect()
    before = sim.memory_allocated()
    layer = nn.Sequential(nn.Linear(8, 8), nn.LSTM(8, 8)).to("sim")
    weights = sum(p.numel() * 4 for p in layer.parameters())
    assert sim.memory_allocated() - before == weights
    layer(torch.randn(3, 8, device="sim"))[0].sum().backward()
    gc.collect()
    assert sim.memory_allocated() - before == 2 * weights
    del layer
    gc.collect()
    assert sim.memory_allocated() == before


def test_peak() -> None:
    sim.reset_peak_memory_stats()
    before = sim.memory_allocated()
    x = torch.zeros(1000, device="sim")
    del x
    assert sim.max_memory_allocated() - before == 4000
    sim.reset_peak_memory_stats()
    assert sim.max_memory_allocated() == before


OVER: dict[str, Callable[[], Any]] = {
    "empty": lambda: torch.empty(1000, device="sim"),
    "huge": lambda: torch.empty(10**14, device="sim"),
    "zeros that the host has no room for": lambda: torch.zeros(10**14, device="sim"),
    "zeros": lambda: torch.zeros(1000, device="sim"),
    "move": lambda: torch.ones(1000).to("sim"),
    "operator": lambda: torch.ones(10, device="sim").repeat(100),
    "resize": lambda: torch.ones(10, device="sim").resize_(1000),
    "storage": lambda: torch.UntypedStorage(1001, device="sim"),
    "out": lambda: torch.arange(1000, out=torch.empty(0, device="sim")),
    "deep copy": lambda: torch.ones(150, device="sim").clone(),
}


@pytest.mark.parametrize("name", OVER)
def test_out_of_memory(small: memory.Pool, name: str) -> None:
    before = small.allocated
    with pytest.raises(
        torch.cuda.OutOfMemoryError, match="^CUDA out of memory. Tried to allocate"
    ) as caught:
        OVER[name]()
    assert isinstance(caught.value, RuntimeError) and "is sim:0 here" in str(caught.value)
    del caught
    gc.collect()
    assert small.allocated <= before  # less where a skipped test's error, which kept one, goes
    assert torch.ones(240, device="sim").sum() == 240  # the device goes on


def test_what_has_no_elements_needs_no_memory(small: memory.Pool) -> None:
    assert torch.empty(10**9, 0, device="sim").shape == (10**9, 0)
    assert torch.empty_strided((0, 10**9), (1, 1), device="sim").numel() == 0


def test_failed_resize_leaves_the_tensor_alone(small: memory.Pool) -> None:
    x = torch.arange(10.0, device="sim")
    view = x[:5]
    with pytest.raises(torch.OutOfMemoryError):
        x.resize_(1000)
    assert view.tolist() == [0, 1, 2, 3, 4]
    assert x.untyped_storage().nbytes() == 40 and view.data_ptr() == x.data_ptr()


def test_other_device_has_its_own_capacity(small: memory.Pool) -> None:
    assert torch.zeros(1000, device="sim:1").device.index == 1


def test_refusals_and_allocations_are_counted(small: memory.Pool) -> None:
    memories.reset_accumulated(0)
    kept = torch.zeros(10, device="sim")
    nothing = torch.empty(0, device="sim")
    for _ in range(2):
        with pytest.raises(torch.OutOfMemoryError):
            torch.zeros(1000, device="sim")
    with pytest.raises(torch.OutOfMemoryError):
        kept.resize_(1000)
    before = memories.stats(0)
    assert before["num_ooms"] == 3 == memories.stats_nested(0)["num_ooms"]
    assert before["allocation.all.allocated"] - before["allocation.all.freed"] == 1
    held = before["allocated_bytes.all.allocated"] - before["allocated_bytes.all.freed"]
    assert held == 40
    live = before["allocation.all.current"]
    del kept, nothing
    after = memories.stats(0)
    assert after["allocation.all.current"] == live - 1 < after["allocation.all.peak"]
    assert after["allocated_bytes.all.freed"] - before["allocated_bytes.all.freed"] == 40
    memories.reset_accumulated(0)
    stats = memories.stats(0)
    assert (stats["num_ooms"], stats["allocation.all.allocated"]) == (0, 0)
    assert stats["allocated_bytes.all.current"] == small.allocated


def test_emptied_caches_are_counted_as_waits() -> None:
    kept = torch.zeros(1, device="sim:1")
    before = [memories.stats(index)["num_sync_all_streams"] for index in (0, 1)]
    memories.empty_cache()
    after = [memories.stats(index) for index in (0, 1)]
    assert after[1]["num_sync_all_streams"] == before[1] + 1
    assert after[1]["num_device_alloc"] - after[1]["num_device_free"] >= kept.numel()


def test_what_no_device_could_hold_is_refused_in_torchs_words() -> None:
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate more than 1EB memory"):
        torch.empty(1 << 60, dtype=torch.int8, device="sim")
    with pytest.raises(
        torch.OutOfMemoryError, match=r"Tried to allocate 536870912.00 GiB\. GPU 0 "
    ):
        torch.empty(1 << 59, dtype=torch.int8, device="sim")


@pytest.fixture
def whole() -> Iterator[None]:
    yield
    memories.set_fraction(1.0, 0)


def test_a_fraction_of_the_memory_is_a_limit(whole: None) -> None:
    total = sim.mem_get_info(0)[1]
    allowed = 1 << 20
    memories.set_fraction(allowed / total, 0)
    room = allowed - sim.memory_allocated(0)
    with pytest.raises(torch.OutOfMemoryError, match=r"1024\.00 KiB allowed to this process"):
        torch.empty(room + 1, dtype=torch.uint8, device="sim:0")
    with pytest.raises(torch.OutOfMemoryError):
        torch.ones(room + 1, dtype=torch.uint8).to("sim:0")
    assert torch.empty(room - 1, dtype=torch.uint8, device="sim:0").numel() == room - 1
    assert torch.empty(room + 1, dtype=torch.uint8, device="sim:1").numel() == room + 1
    assert sim.mem_get_info(0)[1] == total
    memories.set_fraction(1.0, 0)
    assert torch.empty(room + 1, dtype=torch.uint8, device="sim:0").numel() == room + 1


def test_two_halves_of_a_device_do_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        memory, "_native", None
    )  # which would count this one instead of the device's
    pool = memory.Pool(0, 2048, 2048)
    pool.change(0, 1024)
    with pytest.raises(torch.OutOfMemoryError):
        pool.change(0, 1024)
    pool.change(0, 1023)
    pool.change(1023, 0)
    pool.change(1024, 0)


def test_accelerator_answers() -> None:
    accelerator = SimAccelerator()
    x = torch.zeros(25, device="sim:1")
    assert accelerator.type == "sim" and accelerator.device_count() == 2
    assert accelerator.allocated(1) >= 100 and accelerator.peak(1) >= accelerator.allocated(1)
    assert accelerator.total(1) - accelerator.allocated(1) == accelerator.free(1)
    assert sim.mem_get_info(1) == (accelerator.free(1), accelerator.total(1))
    accelerator.set_device(1)
    assert accelerator.current_device() == 1 == sim.current_device()
    accelerator.synchronize(1)
    assert accelerator.in_bad_fork() is False
    del x


@pytest.mark.parametrize("bad", [-1, 2])
def test_every_answer_refuses_a_device_that_is_not_there(bad: int) -> None:
    accelerator = SimAccelerator()
    others = {"seed": 1, "state": torch.get_rng_state()}
    asked = set()
    for name, method in vars(SimAccelerator).items():
        named = inspect.signature(method).parameters if callable(method) else {}
        if "index" in named:
            given = {key: value for key, value in others.items() if key in named}
            with pytest.raises(RuntimeError, match="invalid device ordinal"):
                getattr(accelerator, name)(index=bad, **given)
            asked.add(name)
    assert {"synchronize", "allocated", "new_generator"} < asked


def test_no_leak_over_steps() -> None:
    model = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 4)).to("sim")
    optimizer = torch.optim.AdamW(model.parameters())
    sizes = []
    for _ in range(20):
        optimizer.zero_grad()
        model(torch.randn(8, 16, device="sim")).square().mean().backward()
        optimizer.step()
        sizes.append(sim.memory_allocated())
    assert len(set(sizes[2:])) == 1
