"""Page-locked memory of the host: what a program can ask about it, as with CUDA."""

from __future__ import annotations

from typing import Any

import pytest
import tdev
import torch
from torch import nn
from torch.utils.data import DataLoader

cuda: Any = tdev.cuda


def test_what_is_pinned_is_a_copy_that_says_so(shims: None) -> None:
    x = torch.arange(6.0).view(2, 3).t()
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned()
    assert pinned.data_ptr() != x.data_ptr() and torch.equal(pinned, x)
    assert pinned.pin_memory() is pinned
    view = pinned[1:]
    assert view.is_pinned() and not view.clone().is_pinned()
    assert not pinned.to("cuda").is_pinned() and not pinned.double().is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        pinned.to("cuda").pin_memory()


def test_storages_and_gradients(shims: None) -> None:
    x = torch.ones(3, requires_grad=True)
    storage = x.untyped_storage().pin_memory()
    assert storage.is_pinned() and not x.untyped_storage().is_pinned()
    assert x.detach().pin_memory().untyped_storage().is_pinned()
    (x.pin_memory() * 2).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2, 2, 2]
    assert not nn.Linear(2, 2, device="cuda").weight.is_pinned()


@pytest.mark.parametrize("pins", [True, False])
def test_batches_of_a_loader(pins: bool, shims: None) -> None:
    rows = [{"x": torch.full((2,), float(i)), "y": i} for i in range(4)]
    for batch in DataLoader(rows, 2, pin_memory=pins):  # type: ignore[arg-type]
        assert batch["x"].is_pinned() is pins and batch["y"].is_pinned() is pins


@pytest.mark.parametrize(
    ("late", "where", "pinned"),
    [(True, "cpu", True), (False, "cpu", False), (True, "sim:1", False)],
)
def test_copies_that_do_not_wait_land_in_pinned_memory(
    late: bool, where: str, pinned: bool
) -> None:
    x = torch.ones(3, device="sim")
    copied = x.to(where, non_blocking=late)
    assert copied.is_pinned() is pinned and copied.tolist() == [1, 1, 1]
    assert not torch.ones(3).to("sim", non_blocking=True).is_pinned()


def test_memory_that_the_program_registers() -> None:
    x, runtime = torch.ones(20), cuda.cudart()
    other = torch.ones(20)
    assert int(runtime.cudaHostRegister(x.data_ptr(), x.nbytes, 0)) == 0
    try:
        assert x.is_pinned() and x[3:].is_pinned() and not other.is_pinned()
    finally:
        assert int(runtime.cudaHostUnregister(x.data_ptr())) == 0
    assert not x.is_pinned()
    again = runtime.cudaHostUnregister(x.data_ptr())
    assert "registered" in runtime.cudaGetErrorString(again)
