"""Faults that ``TDEV_SIM_FAULTS`` asks for: each in torch's own classes, out of memory once, a lost device for good."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tdev_core.accelerators.sim import faults
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


def test_several_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ask(monkeypatch, "oom@call:1, oom@call:2 ,xid@call:1000000")
    for _ in range(2):
        with pytest.raises(torch.OutOfMemoryError):
            torch.empty(1, device="sim")
    torch.empty(1, device="sim")


@pytest.mark.parametrize(
    "text", ["oom", "oom@", "oom@call:0", "oom@call:x", "xid@120MiB", "late@call:1", "oom@1MiB,,"]
)
def test_what_means_nothing_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("TDEV_SIM_FAULTS", text)
    with pytest.raises(ConfigError, match="is no fault. Write oom@SIZE"):
        faults.read()


def test_nothing_is_asked_for_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TDEV_SIM_FAULTS", raising=False)
    assert faults.read() == ()
