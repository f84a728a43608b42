"""Collectives of processes that MLX has connected: MLX carries them, with gloo's results."""

from __future__ import annotations

import json
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tdev_core.release import torch_release
from tests.accelerators.mlx.programs import environment, run, start_file, wait_all

WORKER = Path(__file__).parent / "connected_worker.py"
CARRIED = {
    "SUM": "all_sum",
    "AVG": "all_sum",
    "MAX": "all_max",
    "MIN": "all_min",
    "in_place_of_a_view": "all_sum",
    "coalesced": "all_sum",
    "broadcast": "all_sum",
    "gathered": "all_gather",
    "gathered_into_one": "all_gather",
}
"""The function of MLX that carries each case of the worker; the others are gloo's."""


def free_ports(number: int) -> list[int]:
    sockets = [socket.socket() for _ in range(number)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def ranks(folder: Path, *variables: dict[str, str], dtypes: Sequence[str] = ()) -> list[Any]:
    """What the two ranks found; each gets its own environment variables."""
    kept = {
        name: value
        for name, value in environment().items()
        if not name.startswith(("TDEV_", "MLX_")) and name not in ("RANK", "WORLD_SIZE")
    }
    common = {
        "TDEV_BACKEND": "mlx",
        "TDEV_NATIVE_BUILD": "0",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    programs = [
        start_file(WORKER, f"{folder}/", *dtypes, env={**kept, **common, **own})
        for own in variables
    ]
    done = wait_all(programs, 150)
    errors = "\n".join(one.stderr for one in done)
    assert [one.returncode for one in done] == [0, 0], errors[-6000:]
    return [json.loads((folder / str(rank)).read_text("utf-8")) for rank in (0, 1)]


def hostfile(folder: Path) -> str:
    """A ring of two on this machine, in the format of ``mlx.launch``."""
    file = folder / "hosts.json"
    file.write_text(json.dumps([[f"127.0.0.1:{port}"] for port in free_ports(2)]))
    return str(file)


@pytest.fixture(scope="module")
def launched(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Two ranks that know only what ``mlx.launch`` tells them."""
    folder = tmp_path_factory.mktemp("launched")
    hosts = hostfile(folder)
    return ranks(folder, *({"MLX_RANK": str(rank), "MLX_HOSTFILE": hosts} for rank in (0, 1)))


def test_every_collective_gives_what_gloo_gives(launched: list[dict[str, Any]]) -> None:
    for rank in (0, 1):
        assert launched[rank]["rank"] == rank and launched[rank]["told"] == []
        for case, found in launched[rank]["collectives"].items():
            if found["gloo"] != "refused":  # MLX adds up bool, which gloo does not
                assert found["mlx"] == found["gloo"], case


def test_mlx_carries_what_it_has_and_nothing_else(launched: list[dict[str, Any]]) -> None:
    for case, found in launched[0]["collectives"].items():
        name, _, dtype = case.partition(" ")
        # torch reduces the parts of complex numbers, and refuses to compare them.
        fractions = "float" in dtype or "complex" in dtype
        ordered = dtype not in ("torch.complex64", "torch.bool")
        possible = {"AVG": fractions, "MAX": ordered, "MIN": ordered}.get(name, True)
        if name in CARRIED and dtype != "torch.float64" and possible:
            assert CARRIED[name] in found["carried"], case
        else:
            assert found["carried"] == {}, case


def test_data_parallel_training_is_the_same(launched: list[dict[str, Any]]) -> None:
    for rank in (0, 1):
        assert launched[rank]["trained"] == pytest.approx(launched[rank]["gloo"], abs=1e-6)
        assert launched[rank]["carried"]["all_sum"] >= 3, "one for each step"
    assert launched[0]["trained"] == launched[1]["trained"]


def test_ranks_in_another_order_are_gloos(launched: list[dict[str, Any]]) -> None:
    if torch_release < (2, 12):
        pytest.skip("torch 2.12 is the first that makes a group whose ranks are not sorted")
    assert launched[0]["subgroup"] == launched[1]["subgroup"] == [3.0, 0.0]


def test_other_ranks_than_torchs_are_told_and_not_used(tmp_path: Path) -> None:
    hosts, (port,) = hostfile(tmp_path), free_ports(1)
    found = ranks(
        tmp_path,
        *(
            {
                "MLX_RANK": str(1 - rank),
                "MLX_HOSTFILE": hosts,
                "RANK": str(rank),
                "WORLD_SIZE": "2",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
            }
            for rank in (0, 1)
        ),
        dtypes=["float32"],
    )
    for rank in (0, 1):
        (told,) = found[rank]["told"]
        assert f"rank {1 - rank} of 2, torch.distributed as rank {rank} of 2" in told
        assert found[rank]["carried"] == {}
        for case, answer in found[rank]["collectives"].items():
            assert answer["mlx"] == answer["gloo"] and answer["carried"] == {}, case


def test_a_launcher_that_connects_nothing_leaves_gloo(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    found = ranks(
        tmp_path,
        *(
            {
                "MLX_RANK": str(rank),
                "MLX_HOSTFILE": str(tmp_path / "no such file"),
                "RANK": str(rank),
                "WORLD_SIZE": "2",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
            }
            for rank in (0, 1)
        ),
        dtypes=["float32"],
    )
    for rank in (0, 1):
        assert len(found[rank]["told"]) == 1 and "gloo carries" in found[rank]["told"][0]
        assert found[rank]["carried"] == {}


@pytest.mark.parametrize("backend", ["nccl", "cuda:nccl", "cuda:nccl,cpu:gloo"])
def test_a_group_for_the_device_alone_begins(backend: str) -> None:
    """The ranks vote on who carries the collectives; a group without a CPU backend can, too."""
    program = f"""
import tdev as torch
store = torch.distributed.HashStore()
torch.distributed.init_process_group("{backend}", store=store, rank=0, world_size=1)
x = torch.ones(2, device="cuda")
torch.distributed.all_reduce(x)
assert x.tolist() == [1.0, 1.0] and x.device.type == "mlx"
torch.distributed.destroy_process_group()
"""
    done = run(program, TDEV_BACKEND="mlx", GLOO_SOCKET_IFNAME="lo")
    assert done.returncode == 0, done.stderr[-3000:]
