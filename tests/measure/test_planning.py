"""A plan has the numbers of a run on real ranks; what it cannot know it says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tdev_core.commands import plan_cli
from tdev_core.metrics import units
from tdev_core.release import torch_release
from tests.forkserver import COMPILER, environment, python, ranks

MODEL = """
import json
import sys

import tdev as torch
from tdev import distributed as dist, nn
from tdev.distributed.device_mesh import init_device_mesh
from tdev.distributed.fsdp import FullyShardedDataParallel, fully_shard
from tdev.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module


def model(kind):
    world = dist.get_world_size()
    net = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 64)).cuda()
    if kind == "ddp":
        return nn.parallel.DistributedDataParallel(net, device_ids=[torch.cuda.current_device()])
    if kind == "fsdp":
        return FullyShardedDataParallel(net, device_id=torch.cuda.current_device())
    if kind == "fsdp2":
        mesh = init_device_mesh("cuda", (world,), mesh_dim_names=("data",))
        for part in (net[0], net[2], net):
            fully_shard(part, mesh=mesh)
    if kind == "tensors":
        mesh = init_device_mesh("cuda", (world,), mesh_dim_names=("tensors",))
        parallelize_module(net, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    return net


def train(kind, steps, stepped=lambda step: None):
    net = model(kind)
    optimizer = torch.optim.AdamW(net.parameters())
    for step in range(steps):
        loss = net(torch.randn(8, 64, device="cuda")).square().mean()
        loss.backward()
        optimizer.step()
        stepped(step)
        optimizer.zero_grad()
    return loss
"""

PLANS = (
    MODEL
    + """
from tdev.planning import plan


def program(kind):
    def run():
        dist.init_process_group("nccl")
        assert (dist.get_world_size(), dist.get_rank()) == (world, 0)
        assert train(kind, 5).item() == 0.0
        raise AssertionError("it took more steps than were asked for")

    return run


found = {}
for world in (2, 16):
    for kind in sys.argv[1:]:
        one = plan(program(kind), world)
        assert one.steps == 2 and not dist.is_initialized()
        found[f"{kind} {world}"] = json.loads(one.text())
print(json.dumps(found))
"""
)

RUNS = (
    MODEL
    + """
rank = int(__import__("os").environ["RANK"])
dist.init_process_group("nccl")
torch.cuda.set_device(rank)
peaks, rests = [], []


def stepped(step):
    if step:
        peaks.append(torch.cuda.max_memory_allocated())
        rests.append(torch.cuda.memory_allocated())
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()


train(sys.argv[2], 5, stepped)
# The thread of collectives lets go of a buffer when it comes to it: a busy machine only adds.
open(sys.argv[1] + str(rank), "w").write(json.dumps([min(peaks), min(rests)]))
dist.destroy_process_group()
"""
)
KINDS = ["one", "ddp", "fsdp", "fsdp2", "tensors"]
SIM = {"TDEV_BACKEND": "sim", "TDEV_SIM_DEVICES": "2"}


@pytest.fixture(scope="module")
def plans() -> dict[str, Any]:
    done = python("-c", PLANS, *KINDS, env=environment(**SIM), preload=COMPILER)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_memory_is_that_of_real_ranks(kind: str, plans: dict[str, Any], tmp_path: Path) -> None:
    if kind.startswith("fsdp") and torch_release < (2, 12):
        pytest.skip("FSDP on sim takes a storage's memory away, as torch does from 2.12 on")
    # A process for each kind: what the thread of collectives still holds of the one before counts as its memory.
    file = tmp_path / "found"
    for done in ranks("-c", RUNS, str(file), kind, env=environment(**SIM), preload=COMPILER):
        assert done.returncode == 0, done.stderr[-3000:]
    peak, held = json.loads(Path(f"{file}0").read_text(encoding="utf-8"))
    one = plans[f"{kind} 2"]
    assert sum(one["peak"].values()) == pytest.approx(peak, rel=0.01)
    assert sum(one["held"].values()) == pytest.approx(held, rel=0.01)


PARAMETERS = 4 * (64 * 256 + 256 + 256 * 64 + 64)


@pytest.mark.parametrize(
    ("kind", "parameters"),
    [("one", PARAMETERS), ("ddp", PARAMETERS), ("fsdp2", PARAMETERS // 2)],
)
def test_memory_is_told_apart(kind: str, parameters: int, plans: dict[str, Any]) -> None:
    held = plans[f"{kind} 2"]["held"]
    assert held["parameters"] == held["gradients"] == parameters
    counts = 4 * 4  # AdamW's count of steps, a number for each parameter
    assert 2 * parameters <= held["optimizer"] <= 2 * parameters + counts


def sums(one: Any) -> dict[str, tuple[int, int, int]]:
    return {c["kind"]: (c["count"], c["bytes"], c["sent"]) for c in one["collectives"]}


@pytest.mark.parametrize("world", [2, 16])
def test_the_traffic_is_that_of_rings(world: int, plans: dict[str, Any]) -> None:
    share = PARAMETERS * (world - 1) // world
    assert sums(plans[f"one {world}"]) == {}
    assert sums(plans[f"ddp {world}"]) == {"all_reduce": (1, PARAMETERS, 2 * share)}
    rows = 8 * 64 * 4
    assert sums(plans[f"tensors {world}"]) == {
        "all_reduce": (1, rows, 2 * (rows * (world - 1) // world))
    }
    found = plans[f"ddp {world}"]["collectives"][0]
    assert found["size"] == world and found["nodes"] == -(-world // 8)


def test_what_is_sharded_is_gathered_in_forward_and_backward(plans: dict[str, Any]) -> None:
    share = PARAMETERS // 2
    assert sums(plans["fsdp2 2"]) == {
        "all_gather": (4, 2 * PARAMETERS, 2 * share),
        "reduce_scatter": (2, PARAMETERS, share),
    }


SCRIPT = """
import os
import torch
import torch.distributed as dist
dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4096, 4096).cuda())
optimizer = torch.optim.SGD(net.parameters(), 0.1)
for step in range(4):
    loss = net(torch.ones(2, 4096, device="cuda")).sum()
    loss.backward()
    optimizer.step()
    print("loss", loss.item(), loss.detach().cpu().numpy(), dist.get_rank(), dist.get_world_size(), f"{loss.detach():.3f}")
    optimizer.zero_grad()
"""


def planned(tmp_path: Path, source: str, *options: str) -> tuple[int, str, str]:
    script = tmp_path / "träin me.py"
    script.write_text(source, encoding="utf-8")
    done = python("-m", "tdev", "plan", *options, script.name, env=environment(), cwd=tmp_path)
    return done.returncode, done.stdout, done.stderr


def test_a_script_is_planned_and_says_what_it_says_to_stderr(tmp_path: Path) -> None:
    status, out, err = planned(tmp_path, SCRIPT, "--world", "512", "--rank", "9", "--json")
    assert status == 0, err
    found = json.loads(out)
    assert found["schema"] == 1 and (found["world"], found["rank"], found["steps"]) == (512, 9, 2)
    assert found["held"]["parameters"] == 4 * (4096 * 4096 + 4096)
    assert found["peak_bytes"] == sum(found["peak"].values())
    assert "loss 0.0 0.0 9 512 0.000" in err and err.count("loss") == 1


def test_a_program_of_no_steps_is_planned_to_its_end(tmp_path: Path) -> None:
    source = "import torch\nx = torch.ones(256, 1024, device='cuda')\ny = x @ x.T\n"
    status, out, _ = planned(tmp_path, source, "--world", "1")
    assert status == 0 and "0 steps of its optimizer" in out and "memory   1.2 MiB at most" in out
    assert "network  0 B sent in a step: no collective" in out


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("1 / 0", "ZeroDivisionError"),
        (
            "import torch\n\ntorch.ones(3, device='cuda').nonzero()",
            "träin me.py:3 gives a shape that depends on numbers",
        ),
        (
            "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
            "dist.recv_object_list([None], src=1)",
            "the program needs an object that another sends",
        ),
        (
            "import torch.distributed as dist\ndist.init_process_group('nccl')\n"
            "dist.broadcast_object_list([None], group_src=1)",
            "the program needs an object that another sends",
        ),
    ],
)
def test_what_cannot_be_planned_says_why(source: str, said: str, tmp_path: Path) -> None:
    status, out, err = planned(tmp_path, source, "--world", "2")
    assert status == 2 and said in err and not out
    assert "before its plan was known" in err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["x.py"], "--world"),
        (["--world", "0", "x.py"], "0 is not above 0"),
        (["--world", "many", "x.py"], "invalid"),
        (["--world", "2", "--rank", "2", "x.py"], "there are the ranks 0 to 1"),
        (["--world", "2"], "no script and no module given"),
        (["--world", "2", "nowhere.py"], "nowhere.py: no such file"),
    ],
)
def test_what_means_nothing_is_refused(
    words: list[str],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.py").touch()
    with pytest.raises(SystemExit) as ended:
        plan_cli.main(words)
    assert ended.value.code == 2 and said in capsys.readouterr().err


def test_a_plan_needs_the_simulated_devices() -> None:
    from tdev_core.errors import UnsupportedError
    from tdev_core.measure.planning.planner import plan

    with pytest.raises(UnsupportedError, match="TDEV_BACKEND=sim"):
        plan(print, 2)
    with pytest.raises(ValueError, match="no such plan"):
        plan(print, 2, rank=2)


def test_an_object_of_this_rank_is_handed_on(tmp_path: Path) -> None:
    source = (
        "import torch.distributed as dist\ndist.init_process_group('nccl')\nsent = [{'lr': 0.1}]\n"
        "dist.broadcast_object_list(sent, src=0)\nassert sent == [{'lr': 0.1}]\n"
        "everybodys = [None, None]\ndist.all_gather_object(everybodys, 'mine')\nassert everybodys[0] == 'mine'\n"
    )
    status, _, err = planned(tmp_path, source, "--world", "2")
    assert status == 0, err


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (-2048, "-2.0 KiB"),
        (3 << 40, "3.0 TiB"),
        (1 << 60, "1048576.0 TiB"),
    ],
)
def test_sizes_have_units(count: int, text: str) -> None:
    assert units.size(count) == text
