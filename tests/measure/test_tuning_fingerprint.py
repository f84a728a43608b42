"""What a step is made of, and which settings change nothing of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from tdev_core.measure.tuning import lanes
from tdev_core.measure.tuning.fingerprint import Fingerprint, does_more


def seen(compute: Callable[[], Any], bits: dict[str, str] | None = None) -> str:
    found = Fingerprint({} if bits is None else bits)
    with found:
        compute()
    return found.text()


def test_what_is_computed_shows_and_with_which_numbers_does_not() -> None:
    x = torch.randn(4, 4)
    alike = seen(lambda: x.mul(0.5).add(x))
    assert seen(lambda: torch.randn(4, 4).mul(0.25).add(torch.ones(4, 4))) != alike  # two more
    assert seen(lambda: x.mul(0.25).add(x + 0) if False else x.mul(0.25).add(x)) == alike
    others: list[Callable[[], Any]] = [
        lambda: x.mul(0.5).sub(x),
        lambda: x.t().mul(0.5).add(x),
        lambda: x.double().mul(0.5).add(x),
        lambda: x[:2].mul(0.5).add(x[:2]),
    ]
    assert alike not in {seen(one) for one in others}


def test_a_kernel_that_a_flag_chooses_shows_in_the_bits_of_the_programs_own_products() -> None:
    x = torch.randn(256, 256)

    def products() -> torch.Tensor:
        return (x @ x) + torch.nn.functional.conv2d(
            x[None, None], torch.ones(1, 1, 3, 3), padding=1
        )

    before = torch.get_float32_matmul_precision()
    try:
        found = {}
        for precision in ("highest", "medium"):
            torch.set_float32_matmul_precision(precision)
            found[precision] = seen(products), products()
    finally:
        torch.set_float32_matmul_precision(before)
    (one, its), (other, others) = found["highest"], found["medium"]
    # On most processors the flag does nothing.
    assert (one == other) or not torch.equal(its, others)
    ones = torch.ones(256, 256)
    same_bits = all(torch.equal(a, b) for a, b in ((its, others), (ones @ ones, ones @ ones)))
    assert (one == other) == same_bits


def test_products_are_made_once_for_each_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    from tdev_core.measure.tuning import fingerprint

    asked: list[str] = []

    def bits(func: Any, args: Any, kwargs: Any) -> str:
        asked.append(torch.get_float32_matmul_precision())
        return asked[-1]

    monkeypatch.setattr(fingerprint, "_bits", bits)
    known: dict[str, str] = {}
    x = torch.ones(3, 3)
    first = seen(lambda: x @ x, known)
    assert seen(lambda: x @ x, known) == first and asked == ["highest"]
    torch.set_float32_matmul_precision("medium")
    try:
        assert seen(lambda: x @ x, known) != first and asked == ["highest", "medium"]
    finally:
        torch.set_float32_matmul_precision("highest")


def test_what_cannot_be_made_again_is_like_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    from tdev_core.measure.tuning import fingerprint

    monkeypatch.setattr(torch, "empty_like", lambda *_: (_ for _ in ()).throw(RuntimeError("no")))
    x = torch.ones(3, 3)
    assert seen(lambda: x @ x) != seen(lambda: x @ x) and fingerprint._PRODUCTS


class Program:
    """Steps of a model with dropout, whose draws have to stay what they are."""

    def __init__(self) -> None:
        self.model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 1))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 1e-2)

    def __call__(self) -> torch.Tensor:
        self.optimizer.zero_grad()
        loss = self.model(torch.randn(4, 8)).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss  # type: ignore[no-any-return]


@pytest.fixture
def ways() -> Iterator[lanes.Lanes]:
    found = lanes.function(Program, "processor", {})
    yield found
    found.close()


def test_settings_are_seen_to_change_a_step_or_not(ways: lanes.Lanes) -> None:
    own = ways.made_of({})
    assert own and ways.made_of({}) == own
    assert ways.made_of({"optimizer": "for-loop"}) == own, "what SGD does on a CPU by itself"
    different = [
        {"optimizer": "fused"}, {"optimizer": "foreach"}, {"autocast": "bfloat16"}, {"set_to_none": "false"},
    ]  # fmt: skip
    found = {ways.made_of(one) for one in different}
    assert own not in found and len(found) == len(different)
    assert ways.made_of({}) == own


def test_a_step_that_does_more_is_told_from_one_that_does_something_else(
    ways: lanes.Lanes,
) -> None:
    own = ways.made_of({})
    assert does_more(ways.made_of({"set_to_none": "false"}), own), (
        "gradients are zeroed, and added to"
    )
    assert not does_more(own, own) and not does_more(own, ways.made_of({"set_to_none": "false"}))
    others = ({"optimizer": "fused"}, {"optimizer": "foreach"}, {"autocast": "bfloat16"})
    assert not any(does_more(ways.made_of(one), own) for one in others)
    assert not does_more(own, "") and not does_more("", own), "nothing is known of a failure"


def test_losses_are_the_same_whether_a_step_was_looked_at_or_not() -> None:
    losses = []
    for looked in (False, True):
        ways = lanes.function(Program, "processor", {})
        ways.made_of({}) if looked else ways.steps({}, 1)
        losses.append([one.loss for one in ways.steps({}, 3)])
        ways.close()
    assert losses[0] == losses[1]


def test_a_program_that_compiles_is_looked_at_as_well() -> None:
    def make() -> Callable[[], torch.Tensor]:
        program = Program()
        program.model = torch.compile(program.model, backend="eager", fullgraph=True)  # type: ignore[assignment]
        return program

    ways = lanes.function(make, "processor", {})
    try:
        own = ways.made_of({})
        assert own and ways.made_of({"optimizer": "fused"}) not in ("", own)
        assert len(ways.steps({}, 2)) == 2
    finally:
        ways.close()
