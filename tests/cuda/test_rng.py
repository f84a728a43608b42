"""Random numbers on the CPU: the accelerator's generator is the CPU's, and nothing recurses."""

from __future__ import annotations

import pickle
from unittest import mock

import pytest
import torch

from tdev_core.accelerator import accelerator
from tdev_core.backend import Backend
from tdev_core.cuda import rng


@pytest.fixture(autouse=True)
def _keep_state():
    state = torch.get_rng_state()
    yield
    torch.set_rng_state(state)


@pytest.mark.parametrize("seed", [rng.manual_seed, rng.manual_seed_all])
def test_a_seed_gives_the_same_numbers_twice(seed):
    seed(1234)
    first = torch.rand(5)
    seed(1234)
    assert torch.equal(first, torch.rand(5))
    assert rng.initial_seed() == 1234 == torch.initial_seed()
    seed(1235)
    assert not torch.equal(first, torch.rand(5))


def test_torch_manual_seed_gives_the_same_numbers_as_ours():
    torch.manual_seed(99)
    first = torch.rand(5)
    rng.manual_seed_all(99)
    assert torch.equal(first, torch.rand(5))


def test_seeding_back_from_torch_does_not_recurse(monkeypatch):
    # Where torch.manual_seed reaches our manual_seed_all, ours must not reach torch.manual_seed again.
    monkeypatch.setattr(torch.cuda, "manual_seed_all", rng.manual_seed_all)
    torch.manual_seed(3)
    first = torch.rand(2)
    torch.manual_seed(3)
    assert torch.equal(first, torch.rand(2))


def test_numpy_integers_are_seeds():
    numpy = pytest.importorskip("numpy")
    rng.manual_seed(numpy.int64(5))
    assert rng.initial_seed() == 5


def test_states_round_trip():
    for get, put in (
        (rng.get_rng_state, rng.set_rng_state),
        (lambda: rng.get_rng_state("cuda:0"), lambda state: rng.set_rng_state(state, "cuda")),
        (rng.get_rng_state_all, rng.set_rng_state_all),
    ):
        state = get()
        first = torch.randn(7)
        put(state)
        assert torch.equal(first, torch.randn(7))


def test_states_are_bytes_one_for_each_device():
    assert rng.get_rng_state().dtype is torch.uint8
    assert len(rng.get_rng_state_all()) == len(rng.default_generators) == 1


def test_states_of_more_devices_are_left_out():
    state = rng.get_rng_state()
    first = torch.rand(3)
    rng.set_rng_state_all([state, torch.zeros(16, dtype=torch.uint8), state])
    assert torch.equal(first, torch.rand(3))


def test_a_state_of_cuda_is_refused_with_advice():
    with pytest.raises(RuntimeError, match="not a random state of the 'cpu' backend.*manual_seed"):
        rng.set_rng_state(torch.zeros(16, dtype=torch.uint8))


def test_seed_draws_from_entropy():
    rng.seed()
    first = rng.initial_seed()
    rng.seed_all()
    assert rng.initial_seed() != first
    assert rng.reseed() == rng.initial_seed()
    assert rng.reseed_all() == rng.initial_seed()


def test_default_generators():
    assert rng.default_generators[0] is torch.default_generator
    assert rng.default_generators[-1] is torch.default_generator
    assert [*rng.default_generators] == [torch.default_generator]
    assert rng.default_generators[:] == (torch.default_generator,)
    assert isinstance(rng.default_generators[0], torch.Generator)
    with pytest.raises(IndexError):
        rng.default_generators[1]


def test_a_generator_pickles_and_reproduces():
    generator = torch.Generator().manual_seed(8)
    twin = pickle.loads(pickle.dumps(generator))
    assert torch.equal(torch.randperm(9, generator=generator), torch.randperm(9, generator=twin))


@pytest.mark.parametrize("devices", [None, [], [0], ["cuda:0"], (d for d in [0])])
@pytest.mark.parametrize("kind", [None, "cuda", "xpu"])
def test_fork_rng_leaves_the_numbers_as_they_were(devices, kind):
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    with rng.fork_rng(devices, device_type=kind):
        torch.rand(100)
        rng.manual_seed_all(5)
    assert torch.equal(torch.rand(3), expected)


def test_fork_rng_can_be_switched_off_and_restores_after_an_error():
    torch.manual_seed(0)
    with rng.fork_rng(enabled=False):
        first = torch.rand(1)
    assert not torch.equal(torch.rand(1), first)
    state = torch.get_rng_state()
    with pytest.raises(KeyError), rng.fork_rng(device_type="cuda"):
        torch.rand(1)
        raise KeyError
    assert torch.equal(torch.get_rng_state(), state)


def test_fork_rng_works_as_a_decorator():
    @rng.fork_rng(device_type="cuda")
    def draw():
        return torch.rand(1)

    torch.manual_seed(0)
    assert torch.equal(draw(), draw())


def test_fork_rng_keeps_each_devices_state(monkeypatch):
    states = {0: b"a", 1: b"b"}
    monkeypatch.setattr(rng, "current", lambda: Backend.SIM)
    monkeypatch.setattr(rng, "_count", lambda: 2)
    monkeypatch.setattr(rng, "device_index", lambda spec: spec)
    monkeypatch.setattr(rng, "get_rng_state", lambda index: states[index])
    monkeypatch.setattr(rng, "set_rng_state", lambda state, index: states.__setitem__(index, state))
    with rng.fork_rng(device_type="cuda"):
        states[0], states[1] = b"x", b"y"
    assert states == {0: b"a", 1: b"b"}
    with rng.fork_rng([1], device_type="cuda"):
        states[0], states[1] = b"x", b"y"
    assert states == {0: b"x", 1: b"b"}


@pytest.mark.parametrize("kind", [None, "cuda", "cpu"])
def test_states_of_several_devices_come_back(kind):
    """torch's own function needs a context that ``torch.cpu`` does not have."""
    state = rng.get_rng_state()
    first = torch.rand(3)
    rng.set_device_states([0], [state], device_type=kind)
    assert torch.equal(torch.rand(3), first)
    rng.set_device_states([], [], device_type="meta")


def test_the_accelerators_own_functions():
    one = accelerator()
    one.manual_seed(4, 0)
    state = one.get_rng_state(0)
    first = torch.rand(2)
    one.set_rng_state(state, 0)
    assert torch.equal(first, torch.rand(2)) and one.initial_seed(0) == 4
    assert one.generator(0) is torch.default_generator
    assert one.device_count() == 1 and one.current_device() == 0 and one.type == "cpu"
    with pytest.raises(ValueError, match="device 0 only"):
        one.set_device(1)


def test_on_mps_torchs_own_functions_answer(monkeypatch):
    monkeypatch.setattr(rng, "current", lambda: Backend.MPS)
    monkeypatch.setattr(rng, "device_index", lambda spec: 0)
    generator = torch.Generator()
    with (
        mock.patch.object(
            torch.mps, "_get_default_mps_generator", autospec=True, return_value=generator
        ),
        mock.patch.object(torch.mps, "manual_seed", autospec=True) as seed,
        mock.patch.object(torch.mps, "get_rng_state", autospec=True, return_value="state") as get,
        mock.patch.object(torch.mps, "set_rng_state", autospec=True) as put,
    ):
        rng.manual_seed(3)
        rng.manual_seed_all(4)
        assert [call.args for call in seed.call_args_list] == [(3,), (4,)]
        assert rng.get_rng_state_all() == ["state"]
        get.assert_called_once_with()
        rng.set_rng_state("state")
        put.assert_called_once_with("state")
        assert rng.default_generators[0] is generator and len(rng.default_generators) == 1
        assert rng.reseed() == generator.initial_seed() == rng.initial_seed()
