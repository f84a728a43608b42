"""Two recordings in one process: what makes a difference is named, what follows from it is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
import torch
from torch import nn

from tdev_core.measure import draws
from tdev_core.measure.comparing import Comparison, Difference, Row, compare, read
from tdev_core.measure.diffing import Found, Sides
from tdev_core.measure.digests import digest
from tdev_core.measure.places import Key, Place
from tdev_core.measure.recording import Recording
from tdev_core.measure.values import judged
from tdev_core.measure.wish import Wish, mark

Program = Callable[[], Any]


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 16), nn.Linear(16, 4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.last(self.drop(torch.tanh(self.first(x))))
        return found


def training(steps: int = 2, lr: float = 1e-2) -> None:
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr)
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.randn(5, 8)).square().sum().backward()
        optimizer.step()


def both(one: Program, other: Program, folder: Path, **wishes: Any) -> Comparison:
    sides = []
    for name, program in (("one", one), ("other", other)):
        (folder / name).mkdir(exist_ok=True)
        reference = str(folder / "one") if name == "other" else None
        try:
            with Recording(Wish(str(folder / name), reference, **wishes)):
                program()
        except SystemExit as ended:
            assert ended.code == 0
        sides.append(read(folder / name))
    return compare(sides[0], sides[1])


def test_a_program_agrees_with_itself(tmp_path: Path) -> None:
    found = both(training, training, tmp_path)
    assert found.first is None and found.alone == (0, 0)
    assert len(found.differences) > 40
    assert {one.key[0].phase for one in found.differences} == {"forward", "backward", "optimizer"}


def test_each_thread_is_compared_with_its_own(tmp_path: Path) -> None:
    plain = torch.tanh

    def program(off: int) -> None:
        def work(number: int) -> None:
            def off_by(x: torch.Tensor) -> torch.Tensor:
                return plain(x) * (1.01 if number == off else 1.0)

            net = Net()
            net(torch.ones(5, 8))
            off_by(net.first(torch.ones(5, 8))).sum().backward()

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
        for one in threads:
            one.start()
            one.join()  # else whose draws come first is chance, also in a program

    assert both(lambda: program(9), lambda: program(9), tmp_path).first is None
    first = both(lambda: program(9), lambda: program(1), tmp_path).first
    assert first is not None and first.process.endswith("-1") and "-thread-" in first.process
    assert first.key[0].function == "torch.Tensor.mul"


def test_a_gradient_is_told_with_the_call_that_made_its_node_not_one_after_it(
    tmp_path: Path,
) -> None:
    def program() -> None:
        x = torch.ones(4, requires_grad=True)
        loss = x.cosh().mean()
        torch.ones(3).cumsum(0)  # makes no node, while gradients are wanted
        loss.backward()

    found = both(program, program, tmp_path)
    functions = {one.key[0].function for one in found.differences if one.key[0].phase == "backward"}
    assert functions == {"torch.Tensor.mean", "torch.Tensor.cosh"}


def test_random_numbers_are_those_of_the_reference(tmp_path: Path) -> None:
    def other() -> None:
        torch.manual_seed(99)
        training()

    assert both(training, other, tmp_path).first is None


def test_a_forward_function_that_is_off_is_named_with_its_line_and_module(tmp_path: Path) -> None:
    plain = torch.tanh

    def program(most: float) -> Program:
        def run() -> None:
            with mock.patch.object(torch, "tanh", lambda x: plain(x).clamp(-1, most)):
                training()

        return run

    first = both(program(1.0), program(0.3), tmp_path).first
    assert first is not None and first.own
    place, operator, _ = first.key
    assert (place.function, operator, place.module) == ("torch.Tensor.clamp", "clamp", "Net")
    assert place.site.startswith("tests/measure/test_comparing.py:") and place.step == 0
    assert first.error > 0.01 and first.given < 1e-6


TANH = torch.tanh


class Tanh(torch.autograd.Function):
    share = 1.0

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = TANH(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        (y,) = ctx.saved_tensors
        found: torch.Tensor = torch.ops.aten.tanh_backward(grads[0], y) * Tanh.share
        return found


def test_a_gradient_that_is_off_is_named_where_its_function_was_called(tmp_path: Path) -> None:
    def program(share: float) -> Program:
        def run() -> None:
            with (
                mock.patch.object(torch, "tanh", Tanh.apply),
                mock.patch.object(Tanh, "share", share),
            ):
                training()

        return run

    first = both(program(1.0), program(1.01), tmp_path).first
    assert first is not None and first.own
    assert first.key[0].phase == "backward" and first.key[1] == "mul"


def test_an_optimizer_that_is_off_is_named_with_its_parameter(tmp_path: Path) -> None:
    first = both(training, lambda: training(lr=1.01e-2), tmp_path).first
    assert first is not None
    place, _, _ = first.key
    assert (place.phase, place.step) == ("optimizer", 0)
    assert place.module.startswith("Net.")


def test_an_optimizer_that_makes_steps_of_rounding_is_not() -> None:
    """Adam takes a whole step by a gradient that is nothing but rounding, whose sign is anybody's guess."""
    from tdev_core.measure.comparing import Row
    from tdev_core.measure.digests import digest
    from tdev_core.measure.places import Place

    def row(sign: float) -> Row:
        grad = torch.tensor([1.0, sign * 1e-9])
        sides = (torch.zeros(2), grad, grad.sign()), (-0.1 * grad.sign(),)
        digests = [tuple(filter(None, map(digest, side))) for side in sides]
        return Row("step", *digests)

    key = Place(0, "optimizer", "", "Net.bias", "step", 0), "", 0
    found = compare({"main": {key: row(1)}}, {"main": {key: row(-1)}})
    (one,) = found.differences
    assert one.error > 0.1 and found.first is None


def test_where_two_runs_agree_the_largest_error_is_one_that_rounding_explains() -> None:
    def row(error: float, tolerance: float, phase: str, function: str) -> Difference:
        key = Place(0, phase, "a.py:1", "", function, 0), "", 0
        return Difference("main-rank0", key, ("", ""), error, 1.0, tolerance)

    rows = [
        row(1e-5, 1e-3, "forward", "mm"),
        row(0.3, 0.5, "optimizer", "step"),
        row(0.9, 0.1, "optimizer", "step"),
    ]
    found = Found(Sides("cpu", "sim"), Comparison(rows), None)
    assert "The largest relative error is 3.0e-01, where 5e-01 is rounding: step" in str(found)
    assert Comparison(rows[2:]).closest is rows[2] and Comparison(rows[2:]).first is None


def test_what_follows_from_a_difference_is_not_called_the_first(tmp_path: Path) -> None:
    def program(share: float) -> Program:
        def run() -> None:
            x = torch.arange(1.0, 9.0)
            y = x * share
            (y + 1).exp().sum()

        return run

    found = both(program(1.0), program(1.5), tmp_path)
    beyond = [one for one in found.differences if one.beyond]
    assert found.first is not None and found.first.key[0].function == "torch.Tensor.mul"
    assert len(beyond) > 3


def ranks(
    *operators: tuple[str, float, float], of: int = 2
) -> tuple[dict[str, dict[Key, Row]], dict[str, dict[Key, Row]]]:
    """Return two recordings of so many ranks; an operator gives 1 + its second number on rank 1, and 1 + its first on the others."""
    sides: list[dict[str, dict[Key, Row]]] = [{}, {}]
    for rank in range(of):
        for side, rows in enumerate(sides):
            given, mine = digest(torch.ones(3)), rows.setdefault(f"main-rank{rank}", {})
            for number, (name, *off) in enumerate(operators):
                found = digest(torch.full((3,), 1 + side * off[rank == 1]))
                site = f"{name}.py:{number}"
                place = Place(0, "forward", site, "", name, 0)
                mine[place, name, 0] = Row(name, (given,), (found,))
                given = found
    return sides[0], sides[1]


def test_what_went_in_with_another_shape_is_another_call() -> None:
    reference, other = ranks(("mul", 0.0, 0.2), ("copy_", 0.0, 0.0))
    for number, rows in enumerate((reference, other)):
        key = list(rows["main-rank0"])[-1]
        of_its_own = digest(torch.ones(3 + number))
        rows["main-rank0"][key] = Row("copy_", (of_its_own,), (of_its_own,))
    found = compare(reference, other)
    assert found.alone == (1, 1) and found.first is not None
    assert (found.first.process, found.first.key[1]) == ("main-rank1", "mul")


def test_of_several_ranks_the_earlier_step_is_the_first() -> None:
    reference, other = ranks(("mul", 0.3, 0.2))
    for rows in (reference, other):
        (((place, *rest), row),) = rows["main-rank0"].items()
        rows["main-rank0"] = {(place._replace(step=4), *rest): row}
    first = compare(reference, other).first
    assert first is not None and first.process == "main-rank1"


def test_terms_that_cancel_leave_their_rounding(tmp_path: Path) -> None:
    def program(more: float) -> Program:
        def run() -> None:
            x = torch.full((100,), 1000.0) + more
            x - x.mean()

        return run

    assert both(program(0.0), program(1e-4), tmp_path).first is None


@pytest.mark.parametrize("way", ["fill_", "init", "copy_", "out"])
def test_what_is_overwritten_excuses_nothing(way: str, tmp_path: Path) -> None:
    """Memory that nobody has written holds other numbers in each run, however large."""

    def program(was: float, value: float) -> Program:
        def run() -> None:
            x, y = torch.full((8,), was), torch.full((8,), value)
            match way:
                case "fill_":
                    x.fill_(value)
                case "init":
                    nn.init.constant_(x, value)
                case "copy_":
                    x.copy_(y)
                case _:
                    torch.neg(y, out=x)

        return run

    found = both(program(1e30, 1.0), program(-1e30, 1.01), tmp_path)
    tolerances = [one.tolerance for one in found.differences if one.key[0].function != "torch.full"]
    assert tolerances and max(tolerances) < 1


def test_a_mask_whose_limit_is_met_by_rounding_is_no_difference(tmp_path: Path) -> None:
    def program(more: float) -> Program:
        def run() -> None:
            x = torch.linspace(-1, 1, 2001) + more
            (x > 0).sum()

        return run

    assert both(program(0.0), program(1e-7), tmp_path).first is None


def test_two_ways_to_compute_one_thing_are_compared_by_their_result(tmp_path: Path) -> None:
    def attention(flash: bool) -> Program:
        def run() -> None:
            q, k, v = torch.randn(3, 1, 2, 5, 8)
            chosen = [
                (
                    torch.nn.attention.SDPBackend.FLASH_ATTENTION
                    if flash
                    else torch.nn.attention.SDPBackend.MATH
                )
            ]
            with torch.nn.attention.sdpa_kernel(chosen):
                torch.nn.functional.scaled_dot_product_attention(q, k, v)

        return run

    found = both(attention(True), attention(False), tmp_path)
    assert found.first is None and min(found.alone) > 0
    compared = {one.key[0].function for one in found.differences}
    assert "torch.nn.functional.scaled_dot_product_attention" in compared


def test_a_run_ends_after_the_steps_that_were_asked_for(tmp_path: Path) -> None:
    found = both(lambda: training(5), lambda: training(5), tmp_path, steps=2)
    assert {one.key[0].step for one in found.differences} == {0, 1}


def test_values_are_kept_where_they_are_asked_for(tmp_path: Path) -> None:
    def program(last: float) -> Program:
        return lambda: torch.tensor([1.0, 2.0, last]).exp()

    first = both(program(3.0), program(4.0), tmp_path).first
    assert first is not None
    wanted = mark(first.process, (first.key[0]._replace(function="torch.Tensor.exp"), "", 0))
    both(program(3.0), program(4.0), tmp_path, whole=(wanted,))
    value = judged(tmp_path / "one", tmp_path / "other", wanted)
    assert value is not None and value.index == (2,)
    assert (value.mine, value.other) == pytest.approx((20.0855, 54.598), rel=1e-4)
    assert value.again == 0  # the function itself does the same
    assert judged(tmp_path / "one", tmp_path / "other", "nothing") is None


@pytest.mark.parametrize("odd", [float("inf"), float("nan")])
def test_what_is_no_number_on_one_side_is_the_worst_of_all(odd: float, tmp_path: Path) -> None:
    mine, other = torch.tensor([odd, 3.0, 5.0]), torch.tensor([odd, odd, 1.0])
    for name, values, again in (("one", mine, None), ("other", other, [other])):
        (tmp_path / name).mkdir()
        torch.save({"found": [values], "again": again}, tmp_path / name / "loss.whole")
    value = judged(tmp_path / "one", tmp_path / "other", "loss")
    assert value is not None and (value.index, value.mine) == ((1,), 3.0)
    assert value.again == float("inf")


def test_an_empty_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no operator of torch has run"):
        read(tmp_path)


def test_a_mask_that_was_drawn_is_that_of_an_operator_which_drops_out_by_itself() -> None:
    x, mask = torch.tensor([1.0, 2.0, 3.0, 4.0]), torch.tensor([1.0, 0.0, 1.0, 1.0])
    result = torch.native_dropout(x, 0.25, True)
    assert [one.dtype for one in draws.drawn("native_dropout", result)] == [torch.bool]
    assert draws.given_again("native_dropout", (x, 0.25, True), result, [mask])
    assert torch.equal(result[0], x * mask / 0.75) and torch.equal(result[1], mask.bool())
    assert not draws.given_again("native_dropout", (x, 0.25, True), result, [mask[:2]])
    plain = torch.empty(4)
    assert draws.given_again("bernoulli_", (plain, 0.75), plain, [mask]) and plain.equal(mask)
