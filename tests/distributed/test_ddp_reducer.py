"""What DDP's reducer asks of a device: unused parameters, static graphs, communication hooks, futures that tell of its tensors."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.forkserver import COMPILER, environment, ranks

BACKENDS = ["cpu", "sim", *(["mlx"] if find_spec("mlx") else [])]

PROGRAM = """
import json
import pickle
import sys

import tdev as torch
from tdev import distributed as dist, nn
from tdev.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from tdev.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank % max(1, torch.cuda.device_count()))
found = {}


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.never = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x, both=True):
        return self.second(self.first(x)) if both else self.first(x)


def model(**settings):
    torch.manual_seed(0)
    return DDP(Branches().cuda(), device_ids=[torch.cuda.current_device()], **settings)


def grads(m):
    return [None if p.grad is None else round(p.grad.sum().item(), 3) for p in m.parameters()]


def step(m, **how):
    m.zero_grad()
    m(torch.full((2, 4), 1.0 + rank, device="cuda"), **how).sum().backward()
    return grads(m)


m = model(find_unused_parameters=True)
found["unused"] = [step(m), step(m, both=False), step(m, both=rank == 0)]
found["named"] = [len(m.state_dict()), len(list(m.parameters()))]
found["copied"] = step(pickle.loads(pickle.dumps(m)))
m = model(static_graph=True)
found["static"] = [step(m) for _ in range(3)]
m = model()
m._set_static_graph()
found["set static"] = [step(m) for _ in range(3)]

seen = []


def noise(state, bucket):
    future = dist.all_reduce(bucket.buffer().div_(2), async_op=True).get_future()

    def add(f):
        value = f.value()[0]
        seen.append(value.device == bucket.buffer().device and value.data_ptr() == bucket.buffer().data_ptr())
        return value.add_(torch.ones(1, device=value.device))

    return future.then(add)


m = model(static_graph=True)
m.register_comm_hook(None, noise)
found["hook"] = [step(m) for _ in range(2)]
found["seen"] = seen
for name in ("fp16", "bf16"):
    m = model(find_unused_parameters=True)
    m.register_comm_hook(None, getattr(default_hooks, name + "_compress_hook"))
    found[name] = step(m)
try:
    model().register_comm_hook(None, 3)
except TypeError as error:
    found["no hook"] = str(error)

torch.manual_seed(0)
layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4))
m = DDP(layers.cuda(), bucket_cap_mb=0.0001)
state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2)
m.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
for _ in range(5):
    m(torch.ones(4, 8, device="cuda")).sum().backward()
found["several buckets"] = state.iter

forgotten = [dist.all_reduce(torch.ones(2, device="cuda"), async_op=True) for _ in range(300)]
found["late"] = [work.wait() and work.get_future().wait()[0].tolist() for work in forgotten[::60]]
open(sys.argv[1] + str(rank), "w").write(json.dumps(found))
dist.destroy_process_group()
"""


@pytest.fixture(scope="module", params=BACKENDS)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp(f"reducer-{request.param}") / "found"
    env = environment(TDEV_BACKEND=request.param, TDEV_SIM_DEVICES="2")
    for done in ranks("-c", PROGRAM, str(file), env=env, preload=COMPILER):
        assert done.returncode == 0, done.stderr[-3000:]
    results = [json.loads(Path(f"{file}{rank}").read_text(encoding="utf-8")) for rank in (0, 1)]
    assert results[0] == results[1]
    return results[0]


def test_unused_parameters_are_found_and_their_gradients_left_alone(found: Any) -> None:
    both, one, unlike = found["unused"]
    assert None not in both[:4] and both[4:] == [None, None]
    assert one[2:] == [None] * 4 and one[:2] == [48.0, 8.0]
    assert None not in unlike[:4] and unlike[4:] == [None, None]
    assert unlike != both  # one rank's branch alone, averaged over two


def test_a_model_has_no_more_parameters_than_its_own(found: Any) -> None:
    assert found["named"] == [6, 6]


def test_a_pickled_model_goes_on(found: Any) -> None:
    assert found["copied"] == found["unused"][0]


@pytest.mark.parametrize("how", ["static", "set static"])
def test_static_graphs(how: str, found: Any) -> None:
    assert found[how] == [found["unused"][0]] * 3


def test_a_hook_is_given_the_devices_tensors(found: Any) -> None:
    assert found["seen"] and all(found["seen"])
    plain = found["static"][0]
    sizes = [16, 4, 16, 4]
    expected = [round(g + n, 3) for g, n in zip(plain[:4], sizes, strict=True)]
    assert found["hook"][0][:4] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("name", ["fp16", "bf16"])
def test_compressed_gradients(name: str, found: Any) -> None:
    plain = found["unused"][0][:4]
    assert found[name][:4] == pytest.approx(plain, rel=0.05, abs=0.5)


def test_what_is_no_hook_is_torchs_error(found: Any) -> None:
    assert found["no hook"] == "Communication hook must be callable."


def test_hooks_that_ask_for_more_collectives_end(found: Any) -> None:
    assert found["several buckets"] >= 4


def test_works_can_be_waited_for_long_after(found: Any) -> None:
    assert found["late"] == [[2.0, 2.0]] * 5


DIES = """
import os
import tdev as torch
from tdev import distributed as dist, nn

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank % max(1, torch.cuda.device_count()))
net = nn.parallel.DistributedDataParallel(nn.Linear(4, 4).cuda())
for step in range(3):
    if (rank, step) == (1, 1):
        os._exit(3)
    net(torch.ones(2, 4, device="cuda")).sum().backward()
"""


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_rank_whose_partner_dies_ends_with_an_error_and_no_signal(backend: str) -> None:
    env = environment(TDEV_BACKEND=backend, TDEV_SIM_DEVICES="2")
    left, died = ranks("-c", DIES, env=env, preload=COMPILER)
    assert died.returncode == 3
    assert left.returncode == 1 and "RuntimeError" in left.stderr
