"""``FullyShardedDataParallel(sync_module_states=True)``: every rank begins with the first one's parameters and buffers."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.distributed import distributed_training
from tests.distributed.distributed_worker import runs_here
from tests.forkserver import COMPILER, environment, ranks

BACKENDS = ["cpu", "sim", *(["mlx"] if find_spec("mlx") else [])]

PROGRAM = """
import json
import sys

import tdev as torch
from tdev import distributed as dist, nn
from tdev.distributed.device_mesh import init_device_mesh
from tdev.distributed.fsdp import FullyShardedDataParallel as FSDP, ShardingStrategy

dist.init_process_group("nccl")
rank = dist.get_rank()
torch.cuda.set_device(rank % max(1, torch.cuda.device_count()))


def network(device, scale):
    with torch.device(device):
        net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    if device != "meta":
        with torch.no_grad():
            for state in (*net.parameters(), *net.buffers()):
                state.fill_(scale)
    return net


def ones(module):
    module.to_empty(device=torch.device("cuda"), recurse=False)
    with torch.no_grad():
        for state in (*module.parameters(False), *module.buffers(False)):
            state.fill_(1 + rank)


def states(net, **settings):
    wrapped = FSDP(net, device_id=torch.cuda.current_device(), sync_module_states=True, use_orig_params=True, **settings)
    with FSDP.summon_full_params(wrapped):
        return [s.float().mean().item() for s in (*wrapped.parameters(), *wrapped.buffers())]


mesh = init_device_mesh("cuda", (1, 2), mesh_dim_names=("copies", "shards"))
hybrid = {"device_mesh": mesh, "sharding_strategy": ShardingStrategy.HYBRID_SHARD}
ignoring = network("cpu", 5.0 + rank).cuda()
found = {
    "values": states(network("cpu", 5.0 + rank)),
    "on meta elsewhere": states(network("meta" if rank else "cpu", 5.0)),
    "made by a function elsewhere": states(network("meta" if rank else "cpu", 5.0), param_init_fn=ones),
    "made by a function": states(network("meta", 0.0), param_init_fn=ones),
    "hybrid": states(network("cpu", 5.0 + rank), **hybrid),
    "ignored": states(ignoring, ignored_modules=[ignoring[2]]),
}
torch.manual_seed(rank)
found["reset"] = states(network("meta", 0.0))
open(sys.argv[1] + str(rank), "w").write(json.dumps(found))
dist.destroy_process_group()
"""


@pytest.fixture(scope="module", params=BACKENDS)
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    if not runs_here(distributed_training, "fsdp1", request.param):
        pytest.skip(
            f"FSDP on {request.param} takes a storage's memory away, as torch does from 2.13 on"
        )
    file = tmp_path_factory.mktemp(f"states-{request.param}") / "found"
    env = environment(TDEV_BACKEND=request.param, TDEV_SIM_DEVICES="2")
    for done in ranks("-c", PROGRAM, str(file), env=env, preload=COMPILER):
        assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(Path(f"{file}{rank}").read_text(encoding="utf-8")) for rank in (0, 1)]


@pytest.mark.parametrize(
    ("how", "value"),
    [
        ("values", 5.0),
        ("on meta elsewhere", 5.0),
        ("made by a function elsewhere", 5.0),
        ("made by a function", 1.0),
        ("hybrid", 5.0),
    ],
)
def test_all_ranks_have_the_first_ones_states(how: str, value: float, found: Any) -> None:
    for rank in (0, 1):
        assert found[rank][how] == [value] * 9


def test_what_is_ignored_is_left(found: Any) -> None:
    assert found[1]["ignored"] == [5.0] * 4 + [6.0] * 2 + [5.0] * 3
    assert found[0]["ignored"] == [5.0] * 9


def test_what_no_rank_has_made_is_reset_and_the_same(found: Any) -> None:
    assert found[0]["reset"] == found[1]["reset"] and any(found[0]["reset"])
