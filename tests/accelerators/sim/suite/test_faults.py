"""Faults that ``TDEV_SIM_FAULTS`` asks for: each in torch's own classes, out of memory once, a lost device for good."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from tdev_core.accelerators.sim import fallback, faults, memory
from tdev_core.errors import ConfigError


@pytest.fixture(autouse=True)
def none() -> Iterator[None]:
    yield
    faults.configure(())


def ask(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TDEV_SIM_FAULTS", text)
    faults.configure(faults.read())


def test_out_of_memory_at_an_allocation_comes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(monkeypatch, "oom@call:3")
    kept = [torch.ones(4, device="sim") for _ in range(2)]
    with pytest.raises(torch.cuda.OutOfMemoryError, match="Tried to allocate 16 bytes"):
        torch.ones(4, device="sim")
    kept.append(torch.ones(4, device="sim"))
    assert sum(x.sum() for x in kept) == 12


def test_out_of_memory_at_a_size_comes_once_and_a_program_recovers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    held = torch.sim.memory_allocated()  # type: ignore[attr-defined]
    ask(monkeypatch, f"oom@{held + 1000}")
    tried = []
    size = 400
    while True:
        tried.append(size)
        try:
            batch = torch.ones(size, device="sim")
            break
        except torch.OutOfMemoryError:
            size //= 2
    assert tried == [400, 200] and batch.sum() == 200
    assert torch.ones(400, device="sim").sum() == 400


def test_only_what_asks_for_more_is_an_allocation(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(monkeypatch, "oom@call:3")
    for _ in range(2):
        freed = torch.empty(4, device="sim")
        freed.untyped_storage().resize_(0)
    del freed
    torch.empty(0, device="sim")
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(4, device="sim")


def test_a_lost_device_stays_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.ones(2, device="sim")
    ask(monkeypatch, "xid@call:2")
    x.add_(1)
    for _ in range(2):
        with pytest.raises(torch.AcceleratorError, match="^CUDA error: unspecified launch failure"):
            x.add_(1)
    assert torch.ones(2).sum() == 2  # the host goes on
    faults.configure(())
    assert x.sum() == 4


def test_a_device_is_lost_at_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.ones(2, device="sim", requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.5)
    ask(monkeypatch, "xid@step:3")
    done = 0
    with pytest.raises(torch.AcceleratorError, match="^CUDA error: unspecified launch failure"):
        while True:
            optimizer.zero_grad()
            weight.sum().backward()
            optimizer.step()
            done += 1
    assert done == 2
    faults.configure(())
    assert weight.tolist() == [0.0, 0.0]
    optimizer.step()  # no hook is left
    assert faults._steps == 0


def test_collectives_of_a_rank_time_out(monkeypatch: pytest.MonkeyPatch) -> None:
    dist = torch.distributed
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        x = torch.ones(2, device="sim")
        ask(monkeypatch, "nccl-timeout@rank:1")
        dist.all_reduce(x)
        ask(monkeypatch, "nccl-timeout@rank:0")
        for _ in range(2):
            with pytest.raises(
                dist.DistBackendError, match=r"^\[Rank 0\] Watchdog caught .*ALLREDUCE"
            ):
                dist.all_reduce(x)
        assert x.sum() == 2  # the device goes on
    finally:
        dist.destroy_process_group()


def test_several_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(monkeypatch, "oom@call:1, oom@call:2 ,xid@call:1000000")
    for _ in range(2):
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(1, device="sim")
    torch.empty(1, device="sim")


@pytest.mark.parametrize(
    "text",
    [
        "oom",
        "oom@",
        "oom@call:0",
        "oom@call:x",
        "xid@120MiB",
        "late@call:1",
        "oom@1MiB,,",
        "xid@step:0",
        "oom@step:1",
    ]
    + ["nccl-timeout@rank:", "nccl-timeout@call:1", "nccl-timeout"],
)
def test_what_means_nothing_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TDEV_SIM_FAULTS", text)
    with pytest.raises(ConfigError, match="is no fault. Write oom@SIZE"):
        faults.read()


def test_nothing_is_asked_for_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TDEV_SIM_FAULTS", raising=False)
    assert faults.read() == ()


def creators(x: torch.Tensor, column: torch.Tensor, many: int) -> dict[str, Callable[[], object]]:
    d = "sim"
    host = torch.ones(1)
    return {
        "zeros": lambda: torch.zeros(many, device=d),
        "full": lambda: torch.full((many,), 1.0, device=d),
        "randn": lambda: torch.randn(many, device=d),
        "randperm": lambda: torch.randperm(many, device=d),
        "arange": lambda: torch.arange(many, device=d),
        "eye": lambda: torch.eye(column.shape[0], device=d),
        "to": lambda: host.expand(many).to(d),
        "zeros_like": lambda: torch.zeros_like(
            x.expand(many), memory_format=torch.contiguous_format
        ),
        "matmul": lambda: column @ column.T,
        "add": lambda: column + column.T,
        "einsum": lambda: torch.einsum("ai,bi->ab", column, column),
        "cat": lambda: torch.cat([x.expand(many // 2)] * 2),
        "repeat": lambda: x.repeat(many),
        "index": lambda: x[torch.zeros(1, dtype=torch.long, device=d).expand(many)],
        "resize": lambda: torch.empty(0, device=d).resize_(many),
        "pad": lambda: torch.nn.functional.pad(x, (0, many)),
    }


@pytest.mark.parametrize("rows", [600, 1 << 22], ids=["the device's", "the host's"])
def test_whatever_makes_a_tensor_runs_out_of_memory_in_torchs_words(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond what the device has, and beyond what the host could give: one class, and nothing is left counted."""
    x, column = torch.ones(1, device="sim"), torch.ones(rows, 1, device="sim")
    pool = memory.pool(0)
    monkeypatch.setattr(pool, "backing", pool.allocated + (1 << 20))
    held = pool.allocated
    for name, create in creators(x, column, rows * rows).items():
        with pytest.raises(torch.OutOfMemoryError, match="^CUDA out of memory. Tried to allocate"):
            pytest.fail(f"{name} made {create()}")
        assert pool.allocated == held, name


def test_views_are_torch_s_own_unless_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    x = torch.arange(12.0, device="sim").reshape(3, 4)
    x.t()  # a thread's first operator is Python's

    def ran(op: object, *args: object, **kwargs: object) -> None:
        raise AssertionError(f"{op} made aliases of its arguments")

    with monkeypatch.context() as patch:
        patch.setattr(fallback, "run", ran)
        views = [
            x.view(2, 6),
            x.t(),
            x.transpose(0, 1),
            x.permute(1, 0),
            x.expand(2, 3, 4),
            x[1],
            x[:, 1:3],
        ]
        views += [
            x.unsqueeze(0),
            x.unsqueeze(0).squeeze(),
            x.diagonal(),
            *x.split(2),
            *x.unbind(),
            x.unfold(1, 2, 1),
        ]
    assert all(view.device == x.device and view.data_ptr() >= x.data_ptr() for view in views)
    x.mul_(2)
    assert views[1].tolist() == [[0, 8, 16], [2, 10, 18], [4, 12, 20], [6, 14, 22]]
    assert views[6].tolist() == [[2, 4], [10, 12], [18, 20]]
    ask(monkeypatch, "xid@call:1")
    with pytest.raises(torch.AcceleratorError):
        x.t()
