"""Random numbers: per device, reproducible, and the CPU's where a program is compared with the CPU."""

from __future__ import annotations

import copy
import os
import pickle
import sys
import threading
from typing import Any

import pytest
import torch

from tdev_core.accelerators.privateuse.generator import DeviceGenerator
from tdev_core.accelerators.sim.accelerator import SimAccelerator
from tests.forkserver import python

sim: Any = torch.sim  # type: ignore[attr-defined]

DRAWS: dict[str, Any] = {
    "rand": lambda d, g: torch.rand(5, device=d, generator=g),
    "randn": lambda d, g: torch.randn(33, device=d, generator=g),
    "randint": lambda d, g: torch.randint(9, (5,), device=d, generator=g),
    "randperm": lambda d, g: torch.randperm(9, device=d, generator=g),
    "bernoulli": lambda d, g: torch.bernoulli(torch.full((9,), 0.5, device=d), generator=g),
    "multinomial": lambda d, g: torch.multinomial(torch.ones(9, device=d), 5, generator=g),
    "normal": lambda d, g: torch.normal(torch.zeros(5, device=d), 1.0, generator=g),
    "exponential_": lambda d, g: torch.empty(5, device=d).exponential_(generator=g),
    "uniform_": lambda d, g: torch.empty(5, device=d).uniform_(generator=g),
    "rrelu": lambda d, g: torch.rrelu(-torch.ones(5, device=d), training=True, generator=g),
}
WITHOUT_GENERATOR: dict[str, Any] = {
    "dropout": lambda d: torch.dropout(torch.ones(32, device=d), 0.5, True),
    "rand_like": lambda d: torch.rand_like(torch.empty(5, device=d)),
    "native_dropout": lambda d: torch.native_dropout(torch.ones(32, device=d), 0.5, True)[1],
    "feature_dropout": lambda d: torch.feature_dropout(torch.ones(8, 4, 2, device=d), 0.5, True),
    "poisson": lambda d: torch.poisson(torch.full((5,), 9.0, device=d)),
    "lstm": lambda d: _dropped_lstm(d),
}


def _dropped_lstm(device: str) -> torch.Tensor:
    with torch.random.fork_rng(devices=[]):
        layer = torch.nn.LSTM(2, 2, 2, dropout=0.5)
    with torch.no_grad():
        for p in layer.parameters():
            p.fill_(0.1)
    result: torch.Tensor = layer.to(device)(torch.ones(3, 2, device=device))[0]
    return result


@pytest.mark.parametrize("name", DRAWS)
def test_linked_draws_are_the_cpus(name: str) -> None:
    torch.manual_seed(5)
    expected = [DRAWS[name]("cpu", None), DRAWS[name]("cpu", None)]
    torch.manual_seed(5)
    actual = [DRAWS[name]("cpu", None), DRAWS[name]("sim", None).cpu()]
    assert all(torch.equal(a, b) for a, b in zip(expected, actual, strict=True))
    assert not torch.equal(*expected) or name == "multinomial"


@pytest.mark.parametrize("name", [*DRAWS, *WITHOUT_GENERATOR])
def test_own_draws(name: str) -> None:
    def draw(device: str) -> torch.Tensor:
        if name in WITHOUT_GENERATOR:
            result: torch.Tensor = WITHOUT_GENERATOR[name](device)
        else:
            result = DRAWS[name](device, None)
        return result.cpu()

    torch.manual_seed(5)
    expected = draw("cpu")
    cpu_state = torch.get_rng_state()
    sim.set_device(1)
    sim.manual_seed(5)
    torch.rand(3)  # the CPU's draws do not disturb the device's
    assert torch.equal(draw("sim:1"), expected)
    torch.manual_seed(5)
    draw("sim:1")
    draw("cpu")  # nor the device's the CPU's
    assert torch.equal(torch.get_rng_state(), cpu_state)


@pytest.mark.parametrize("name", DRAWS)
def test_explicit_generators(name: str) -> None:
    generator = DeviceGenerator(torch.device("sim", 0))
    generator.manual_seed(8)
    expected = DRAWS[name]("cpu", torch.Generator().manual_seed(8))
    before = torch.get_rng_state()
    assert torch.equal(DRAWS[name]("sim", generator).cpu(), expected)
    assert torch.equal(before, torch.get_rng_state())
    with pytest.raises(RuntimeError, match="Expected a 'sim' device type for generator"):
        DRAWS[name]("sim", torch.Generator())


def test_a_seed_of_its_own_unlinks() -> None:
    torch.manual_seed(1)
    sim.manual_seed(7)
    a = torch.rand(3, device="sim")
    sim.manual_seed(7)
    torch.rand(3)
    assert torch.equal(a, torch.rand(3, device="sim"))
    assert sim.initial_seed() == 7 and torch.initial_seed() == 1


def test_the_cpus_own_seed_keeps_the_link() -> None:
    torch.manual_seed(1)
    sim.manual_seed_all(1)
    torch.rand(3)
    drawn = torch.rand(3, device="sim").cpu()
    torch.manual_seed(1)
    torch.rand(3)
    assert torch.equal(drawn, torch.rand(3))


def test_seeding_restarts_the_device_even_where_the_cpu_has_that_seed() -> None:
    torch.manual_seed(1)
    torch.rand(3)
    sim.manual_seed(1)
    a = torch.rand(3, device="sim")
    sim.manual_seed(1)
    assert torch.equal(a, torch.rand(3, device="sim"))


def test_states_round_trip() -> None:
    for device in ("sim:0", "sim:1"):
        state = sim.get_rng_state(device)
        a = torch.rand(3, device=device)
        sim.set_rng_state(state, device)
        torch.rand(5)
        assert torch.equal(a, torch.rand(3, device=device))
    states = sim.get_rng_state_all()
    pair = [torch.rand(2, device=d) for d in ("sim:0", "sim:1")]
    sim.set_rng_state_all(states)
    again = [torch.rand(2, device=d) for d in ("sim:0", "sim:1")]
    assert all(torch.equal(a, b) for a, b in zip(pair, again, strict=True))


def test_fork_rng() -> None:
    torch.manual_seed(3)
    with torch.random.fork_rng(devices=[0, 1], device_type="sim"):
        inside = [torch.rand(2, device="sim"), torch.rand(2, device="sim:1")]
    outside = [torch.rand(2, device="sim"), torch.rand(2, device="sim:1")]
    assert all(torch.equal(a, b) for a, b in zip(inside, outside, strict=True))
    torch.manual_seed(3)
    torch.rand(2)
    assert torch.equal(torch.rand(4), torch.rand(4, device="cpu")) is False
    assert SimAccelerator().generator(0).linked  # type: ignore[attr-defined]


def test_default_generators() -> None:
    accelerator = SimAccelerator()
    first, second = sim.default_generators
    assert accelerator.generator(1) is second and isinstance(second, torch.Generator)
    assert first.device == torch.device("sim", 0) and second.device == torch.device("sim", 1)
    second.manual_seed(4)
    a = torch.rand(3, device="sim:1")
    second.manual_seed(4)
    assert torch.equal(a, torch.rand(3, device="sim:1", generator=second))
    for generator in (first, second):  # each answers with itself, as torch's do
        assert generator.set_state(generator.get_state()) is generator
        assert generator.manual_seed(6) is generator and generator.initial_seed() == 6
    torch.manual_seed(9)
    assert [accelerator.initial_seed(n) for n in (0, 1)] == [9, 9]
    seed = accelerator.seed(0)
    assert accelerator.initial_seed(0) == seed != accelerator.seed(0)
    sim.seed_all()
    assert torch.equal(torch.rand(3, device="sim").cpu(), torch.rand(3, device="sim:1").cpu())


@pytest.mark.parametrize(
    "copier", [lambda g: pickle.loads(pickle.dumps(g)), lambda g: g.clone_state()]
)
def test_generators_copy(copier: Any) -> None:
    generator = SimAccelerator().new_generator(1)
    generator.manual_seed(2)
    torch.rand(3, device="sim:1", generator=generator)
    other = copier(generator)
    assert other.device == torch.device("sim", 1)
    a = torch.rand(3, device="sim:1", generator=generator)
    assert torch.equal(a, torch.rand(3, device="sim:1", generator=other))


def test_vmap_and_init() -> None:
    torch.manual_seed(0)
    weight = torch.nn.init.kaiming_uniform_(torch.empty(3, 3, device="sim"))
    torch.manual_seed(0)
    assert torch.equal(weight.cpu(), torch.nn.init.kaiming_uniform_(torch.empty(3, 3)))
    drawn = torch.func.vmap(lambda x: x + torch.rand_like(x), randomness="different")(
        torch.zeros(4, 3, device="sim")
    )
    assert len({tuple(row) for row in drawn.tolist()}) == 4
    assert copy.deepcopy(drawn).device == drawn.device


def test_own_mode() -> None:
    code = (
        "import torch, tdev_core.accelerators.sim\n"
        "tdev_core.accelerators.sim.activate()\n"
        "torch.manual_seed(0); torch.rand(2, device='sim'); a = torch.rand(2)\n"
        "torch.manual_seed(0); b = torch.rand(2)\n"
        "assert torch.equal(a, b)\n"
    )
    done = python("-c", code, env={**os.environ, "TDEV_SIM_RNG": "own"})
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["rand_like", "native_dropout", "lstm", "dropout"])
@pytest.mark.parametrize("inference", [False, True])
def test_own_draws_without_autograd(name: str, inference: bool) -> None:
    draw = WITHOUT_GENERATOR[name]
    with torch.inference_mode(inference), torch.no_grad():
        torch.manual_seed(5)
        expected = draw("cpu")
        state = torch.get_rng_state()
        sim.manual_seed(5)
        sim.set_device(1)
        sim.manual_seed(5)
        torch.rand(3)
        assert torch.equal(draw("sim:1").cpu(), expected)
        torch.set_rng_state(state)


def test_draws_on_the_device_leave_those_of_other_threads_alone() -> None:
    """No thread sees a number of another's: neither the CPU's generator nor the device's repeats one."""
    sim.manual_seed(7)  # a sequence of its own
    before = sys.getswitchinterval()
    drawn: list[list[int]] = [[] for _ in range(4)]
    errors: list[BaseException] = []

    def draw(i: int) -> None:
        try:
            for _ in range(1500):
                if i % 2:
                    torch.randn(2, device="sim")
                    drawn[i].append(int(torch.randint(2**62, (1,), device="sim")))
                else:
                    drawn[i].extend(int(torch.randint(2**62, (1,))) for _ in range(4))
        except BaseException as error:
            errors.append(error)

    torch.manual_seed(11)
    sim.manual_seed(7)
    threads = [threading.Thread(target=draw, args=(i,)) for i in range(4)]
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    numbers = [number for each in drawn for number in each]
    assert not errors and len(numbers) == 15000
    assert len(set(numbers)) == len(numbers)
    torch.manual_seed(11)  # and the CPU's sequence is the one that it has alone
    alone = [int(torch.randint(2**62, (1,))) for _ in range(12000)]
    assert set(alone) == {number for each in drawn[::2] for number in each}


@pytest.mark.parametrize("default", [False, True], ids=["its own", "the device's"])
def test_generators_have_a_state_in_common(default: bool) -> None:
    """As torch's of CUDA: a state that is handed on is the same one, a clone is another."""
    new = SimAccelerator().new_generator
    generator = SimAccelerator().generator(0) if default else new(0)
    generator.manual_seed(3)
    first, second = generator.graphsafe_get_state(), generator.clone_state()

    def draw(source: Any) -> torch.Tensor:
        if default and source is generator:
            return torch.rand(3, device="sim")
        return torch.rand(3, device="sim", generator=source)

    wanted = [draw(first), draw(generator), draw(first)]
    generator.graphsafe_set_state(second)
    assert torch.equal(draw(generator), wanted[0]) and torch.equal(draw(second), wanted[1])
    last = draw(generator)
    generator.graphsafe_set_state(first)
    after = draw(first)
    assert torch.equal(last, wanted[2]) and not torch.equal(after, wanted[2])
    assert torch.equal(generator.get_state(), first.get_state())
    generator.manual_seed(3)
    assert first.initial_seed() == 3 and torch.equal(draw(first), wanted[0])
    for other in (torch.Generator(), new(1)):
        with pytest.raises(RuntimeError, match="Expected a 'sim:0' generator's state"):
            generator.graphsafe_set_state(other)
    generator.graphsafe_set_state(generator)
    torch.manual_seed(0)
