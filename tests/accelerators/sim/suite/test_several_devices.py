"""Arguments on several devices: what is refused, what is done for each, and what waits."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tdev_core.accelerators.privateuse import waits


@pytest.mark.parametrize("other", ["cpu", "meta", "sim:1"])
@pytest.mark.parametrize("first", [False, True])
def test_tensors_of_two_devices_are_not_added(other: str, first: bool) -> None:
    here, there = torch.ones(2, device="sim:0"), torch.ones(2, device=other)
    with pytest.raises(RuntimeError, match="same device|expected device"):
        (here + there) if first else (there + here)


def test_lists_over_devices_are_worked_through_one_by_one() -> None:
    lists = [[torch.full((2,), float(n), device=f"sim:{n}") for n in (0, 1)] for _ in range(2)]
    added: Any = torch._foreach_add(lists[0], lists[1])
    assert [one.tolist() for one in added] == [[0.0, 0.0], [2.0, 2.0]]
    assert [one.device.index for one in added] == [0, 1]
    torch._foreach_add_(lists[0], 5.0)
    assert [one.tolist() for one in lists[0]] == [[5.0, 5.0], [6.0, 6.0]]


@pytest.mark.parametrize(("late", "count"), [((), 1), ((False,), 1), ((True,), 0)])
def test_a_copy_between_devices_waits_unless_it_may_be_late(late: Any, count: int) -> None:
    given = torch.ones(4, device="sim")
    before = waits.total()
    torch.zeros(4).copy_(given, *late)
    assert waits.total() - before == count
