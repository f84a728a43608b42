"""Random numbers of several ranks: the same for what all ranks hold, others for each shard of a ``DTensor``."""

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
import sys

import tdev as torch
from tdev import distributed as dist, nn
from tdev.distributed.device_mesh import init_device_mesh
from tdev.distributed.fsdp import fully_shard
from tdev.distributed.tensor import Replicate, Shard, distribute_tensor, rand

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank % max(1, torch.cuda.device_count()))
mesh = init_device_mesh("cuda", (2,))
found = {}


def sharded(*placements):
    return distribute_tensor(torch.ones(64, 8, device="cuda"), mesh, list(placements))


def looks(full):
    full = full.full_tensor().cpu()
    return full.tolist(), torch.equal(full[:32], full[32:])


torch.manual_seed(3)
nn.Linear(4, 4)  # draws on the CPU, as a model that is made there
found["alike on all ranks"] = torch.randn(4, device="cuda").tolist()

for name, placement in {"shards": Shard(0), "copies": Replicate()}.items():
    found[f"dropout of {name}"] = looks(nn.functional.dropout(sharded(placement), 0.5))
    found[f"uniform of {name}"] = looks(sharded(placement).uniform_())
found["made"] = looks(rand(64, 8, device_mesh=mesh, placements=[Shard(0)]))
found["after"] = torch.randn(4, device="cuda").tolist()

torch.manual_seed(3)
first = looks(sharded(Shard(0)).normal_())
second = looks(sharded(Shard(0)).normal_())
torch.manual_seed(3)
found["a seed repeats"] = [looks(sharded(Shard(0)).normal_()) == first, first == second]

for name, placement in {"shards": Shard(0), "copies": Replicate()}.items():
    own = [torch.Generator("cuda").manual_seed(5) for _ in range(2)]
    before = torch.cuda.get_rng_state()
    drawn = [looks(sharded(placement).normal_(generator=g)) for g in own]
    again = looks(sharded(placement).normal_(generator=own[0]))
    found[f"a generator for {name}"] = [drawn[0] == drawn[1], again == drawn[0]]
    if placement == Replicate():  # nothing of the default generator's is used
        found["default untouched"] = torch.equal(before, torch.cuda.get_rng_state())

with torch.device("meta"):
    model = nn.Linear(16, 32, bias=False)
fully_shard(model, mesh=mesh)
model.to_empty(device="cuda")
nn.init.normal_(model.weight)
whole = model.weight.full_tensor().cpu()
found["weights made in place"] = (whole.tolist(), torch.equal(whole[:16], whole[16:]))

x = sharded(Shard(0)).requires_grad_()
y = nn.functional.dropout(x, 0.5)
y.sum().backward()
found["backward has the mask"] = torch.equal(y.full_tensor(), x.grad.full_tensor())

open(sys.argv[1] + str(rank), "w").write(json.dumps(found))
dist.destroy_process_group()
"""


@pytest.fixture(scope="module", params=BACKENDS)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    file = tmp_path_factory.mktemp(f"draws-{request.param}") / "found"
    env = environment(TDEV_BACKEND=request.param, TDEV_SIM_DEVICES="2")
    for done in ranks("-c", PROGRAM, str(file), env=env, preload=COMPILER):
        assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(Path(f"{file}{rank}").read_text(encoding="utf-8")) for rank in (0, 1)]


def test_what_all_ranks_draw_is_the_same(found: Any) -> None:
    assert found[0] == found[1]


@pytest.mark.parametrize("name", ["dropout", "uniform"])
def test_shards_differ_and_copies_do_not(name: str, found: Any) -> None:
    for kind in ("shards", "copies"):
        values, same_halves = found[0][f"{name} of {kind}"]
        assert not same_halves
        drawn = [n for row in values for n in row]
        assert len(set(drawn)) == 2 if name == "dropout" else len(set(drawn)) > 500


@pytest.mark.parametrize("name", ["made", "weights made in place"])
def test_a_tensor_made_in_shards_has_other_numbers_in_each(name: str, found: Any) -> None:
    _, same_halves = found[0][name]
    assert not same_halves


def test_a_seed_repeats_and_a_second_draw_does_not(found: Any) -> None:
    assert found[0]["a seed repeats"] == [True, False]


@pytest.mark.parametrize("kind", ["shards", "copies"])
def test_a_generator_of_ones_own_is_drawn_from_and_goes_on(kind: str, found: Any) -> None:
    assert found[0][f"a generator for {kind}"] == [True, False]


def test_a_generator_of_ones_own_leaves_the_default_one(found: Any) -> None:
    assert found[0]["default untouched"]


def test_the_mask_of_the_backward_is_that_of_the_forward(found: Any) -> None:
    assert found[0]["backward has the mask"]
