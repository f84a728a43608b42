"""Settings of a step: each is put on and taken off again between two steps of a program that goes on."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from tdev_core.measure.tuning import choices, lanes
from tdev_core.measure.tuning.choices import CHOICES, offered, put, quota
from tdev_core.measure.tuning.racing import Failed
from tdev_core.measure.tuning.stepping import LEARNING, one_step
from tdev_core.measure.tuning.subject import Subject


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.seen: list[torch.dtype] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.convolution(x)
        self.seen.append(x.dtype)
        x = x.flatten(2).transpose(1, 2)[:, None].contiguous()  # one head, for the flash kernel
        return nn.functional.scaled_dot_product_attention(x, x, x)


class Program:
    def __init__(self) -> None:
        self.model = Net()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3)
        self.stopped_at: list[bool] = []

    def __call__(self) -> float:
        self.optimizer.zero_grad()
        loss = self.model(torch.ones(2, 3, 8, 8)).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()


@pytest.fixture
def known() -> Iterator[tuple[Program, Subject]]:
    program, subject = Program(), Subject()
    subject.enter()
    for _ in range(LEARNING):
        one_step(subject, program, {}, "wall")
    subject.learn(False)
    yield program, subject
    subject.leave()


def state() -> list[Any]:
    """What settings change and have to leave as it was."""
    flags = torch.backends.cuda
    return [
        torch.get_num_threads(), torch.get_float32_matmul_precision(), flags.math_sdp_enabled(), flags.flash_sdp_enabled(),
        torch.Tensor.backward, torch.Tensor.to, torch.optim.Optimizer.zero_grad, torch.utils.data.DataLoader.__init__,
        torch.amp.GradScaler.scale, Net.forward,
    ]  # fmt: skip


def test_what_a_program_is_made_of_is_offered(known: tuple[Program, Subject]) -> None:
    _, subject = known
    assert subject.models == [known[0].model] and subject.optimizers == [known[0].optimizer]
    found = offered(subject)
    assert found["optimizer"] == ("fused", "foreach") and found["channels_last"] == (
        "channels_last",
    )
    assert found["attention"] == ("math",) and found["autocast"] == ("bfloat16",)
    assert found["set_to_none"] == ("false",) and found["matmul_precision"] == ("high", "medium")
    assert "workers" not in found and "non_blocking" not in found and "mps_fast_math" not in found
    for name, values in found.items():
        for value in values:
            choices.check(name, value)


@pytest.mark.parametrize(
    "name", [name for name, one in CHOICES.items() if one.put is not None and name != "compile"]
)
def test_a_setting_leaves_nothing_behind(name: str) -> None:
    before = state()
    program, subject = Program(), Subject()
    subject.enter()
    for _ in range(LEARNING):
        one_step(subject, program, {}, "wall")
    subject.learn(False)
    for value in offered(subject).get(name, ()):
        one_step(subject, program, {name: value}, "wall")
        one_step(subject, program, {}, "wall")
        assert not subject.put
        one_step(subject, program, {name: value}, "wall")
    subject.leave()
    assert state() == before
    assert program.model.convolution.weight.is_contiguous()
    assert [program.optimizer.param_groups[0][way] for way in ("fused", "foreach")] == [None, None]


def test_settings_do_what_they_say(known: tuple[Program, Subject]) -> None:
    program, subject = known
    one_step(
        subject,
        program,
        {"autocast": "bfloat16", "optimizer": "fused", "set_to_none": "false"},
        "wall",
    )
    assert program.model.seen[-1] == torch.bfloat16
    assert program.optimizer.param_groups[0]["fused"] is True
    one_step(subject, program, {"channels_last": "channels_last"}, "wall")
    assert program.model.seen[-1] == torch.float32
    assert program.model.convolution.weight.is_contiguous(memory_format=torch.channels_last)
    put(subject, {"attention": "math"})
    assert not torch.backends.cuda.flash_sdp_enabled() and torch.backends.cuda.math_sdp_enabled()


def test_what_a_model_gives_under_autocast_is_what_the_program_expects(
    known: tuple[Program, Subject],
) -> None:
    program, subject = known
    put(subject, {"autocast": "bfloat16"})
    assert program.model(torch.ones(2, 3, 8, 8)).dtype == torch.float32
    other = Net()
    assert other(torch.ones(1, 3, 8, 8)).dtype == torch.float32
    assert other.seen == [torch.float32], "a model that the program does not train is left alone"


def test_copies_and_pickles_of_a_model_are_its_own(known: tuple[Program, Subject]) -> None:
    program, subject = known
    put(subject, {"autocast": "bfloat16"})
    for one in (copy.deepcopy(program.model), pickle.loads(pickle.dumps(program.model))):
        assert "forward" not in vars(one)
        one.seen.clear()
        one(torch.ones(1, 3, 8, 8))
        assert one.seen == [torch.float32]


def test_a_region_of_autocast_is_around_what_is_compiled() -> None:
    program, subject = Program(), Subject()
    subject.enter()
    one_step(subject, program, {}, "wall")
    subject.learn(False)
    order, plain = list[str](), Net.forward

    def compiled(model: Net, x: torch.Tensor) -> torch.Tensor:
        order.append(str(torch.is_autocast_enabled("cpu")))
        return plain(model, x)

    subject.compiled[id(program.model), "inductor"] = compiled
    one_step(subject, program, {"autocast": "bfloat16"}, "wall")
    one_step(subject, program, {"autocast": "bfloat16", "compile": "inductor"}, "wall")
    one_step(subject, program, {"compile": "inductor"}, "wall")
    subject.leave()
    assert order == ["True", "False"]


def test_an_inherited_forward_is_inherited_again() -> None:
    class Child(Net):
        pass

    model, subject = Child(), Subject()
    subject.models.append(model)
    put(subject, {"autocast": "bfloat16"})
    assert "forward" in vars(Child)
    put(subject, {})
    assert "forward" not in vars(Child)


def test_losses_are_heard_also_where_they_are_scaled() -> None:
    subject = Subject()
    subject.enter()
    weight = torch.ones(2, requires_grad=True)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    (weight * 3).mean().backward()
    assert subject.loss() == 3.0 and math.isnan(subject.loss())
    scaler.scale((weight * 4).mean()).backward()
    assert subject.loss() == 4.0 and subject.scales
    (weight * math.inf).mean().backward()
    assert subject.loss() == math.inf
    subject.leave()


def test_loaders_get_what_is_asked_for() -> None:
    subject = Subject()
    subject.loading = choices.loading({"workers": "0"})
    subject.enter()
    data: Any = list(range(4))  # a list is enough of a dataset for torch
    plain = torch.utils.data.DataLoader(
        data, 2, num_workers=1, prefetch_factor=4, persistent_workers=True
    )
    subject.leave()
    assert plain.num_workers == 0 and [each.tolist() for each in plain] == [[0, 1], [2, 3]]
    assert subject.loads == [(1, False)]


def test_the_container_counts(tmp_path: Any) -> None:
    assert 1 <= quota()


def made(steps: list[str]) -> Callable[..., Callable[[], Any]]:
    def make(pace: str = "") -> Callable[[], Any]:
        program = Program()

        def step() -> float:
            steps.append(pace)
            return program()

        return step

    return make


def test_two_programs_of_one_process_do_not_hear_each_other() -> None:
    before, steps = state(), list[str]()
    ways = lanes.function(made(steps), "wall", {"pace": ("slow", "quick")})
    assert ways.offers()["pace"] == ("slow", "quick")
    ways.steps({"autocast": "bfloat16"}, 2)
    ways.steps({"pace": "quick"}, 2)
    ways.steps({}, 1)
    assert steps == ["slow"] * 4 + ["quick"] * 4 + ["slow"]
    assert len(ways.anew({"autocast": "bfloat16"}, 3)) == 3
    ways.close()
    assert state() == before


def test_a_step_that_fails_is_a_failure_and_is_over() -> None:
    before = state()

    def make() -> Callable[[], Any]:
        program, count = Program(), iter(range(4))

        def step() -> float:
            if next(count) >= 3:
                raise ValueError("no more data")
            return program()

        return step

    ways = lanes.function(make, "wall", {})
    with pytest.raises(Failed, match="ValueError: no more data"):
        ways.steps({}, 3)
    assert ways.anew({}, 3)[-1] == math.inf
    ways.close()
    assert state() == before


def test_a_program_that_is_made_again_and_again_runs_compiled_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After eight versions of a function torch compiles it no more, and says nothing: compiling would seem to help nobody."""
    ran: list[int] = []

    def backend(graph: torch.fx.GraphModule, inputs: Any) -> Any:
        def run(*args: Any) -> Any:
            ran.append(len(made))
            return graph(*args)

        return run

    made: list[nn.Module] = []

    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            made.append(self)
            self.inner, self.scale = nn.Linear(3, 3), len(made)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.inner(x) * self.scale

    class Small(Program):
        def __init__(self) -> None:
            self.model: Any = Scaled()
            self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-3)

        def __call__(self) -> float:
            loss = self.model(torch.ones(2, 3)).square().mean()
            loss.backward()
            return float(loss.detach())

    monkeypatch.setattr(choices, "default_backend", lambda name: backend)
    for _ in range(12):
        ways = lanes.function(Small, "wall", {})
        ways.steps({"compile": "inductor"}, 2)
        ways.close()
    assert set(ran) == set(range(1, len(made) + 1)) and len(made) == 12
