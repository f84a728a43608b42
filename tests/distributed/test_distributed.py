"""Programs written for NCCL, run by two ranks on a host without CUDA."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.catalog import catalog
from tests.distributed import distributed_cases, distributed_training
from tests.distributed.distributed_worker import runs_here, since
from tests.forkserver import COMPILER, environment, ranks

HERE = Path(__file__).parent
ROOT = HERE.parent.parent


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def torchrun(*arguments: str, **variables: str) -> str:
    """Run a script under torchrun with two ranks on this machine; returns what they printed."""
    paths = [str(ROOT), str(ROOT / "generated"), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        **variables,
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2"]
    command += ["--master-addr=127.0.0.1", f"--master-port={free_port()}", *arguments]
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that the ranks can be ended with their launcher
    ) as launcher:
        try:
            stdout, stderr = launcher.communicate(timeout=150)
        except subprocess.TimeoutExpired:
            os.killpg(launcher.pid, signal.SIGKILL)
            stderr = f"no end after 150 s: {launcher.communicate()[1]}"
    ranks = [line for line in stderr.splitlines() if line.startswith("[rank")]
    assert launcher.returncode == 0, "\n".join(ranks) or stderr[-4000:]
    return stdout


def forked(*arguments: str, **variables: str) -> None:
    """Run a script as torchrun's two ranks, but without importing torch three times for it."""
    for done in ranks(*arguments, env=environment(**variables), preload=COMPILER):
        assert done.returncode == 0, done.stderr[-4000:]


def results(cases: ModuleType, mode: str, folder: Path, backend: str) -> list[dict[str, Any]]:
    """What each rank found in one run of the worker; torchrun itself starts one run of each kind."""
    file = folder / f"{cases.__name__}-{mode}-{backend}-"
    worker = str(HERE / "distributed_worker.py")
    variables = {"RENDEZVOUS_FILE": f"{file}store", "TDEV_BACKEND": backend}
    # One of the two sets of cases shows that torchrun starts them; the other forks.
    launch = (
        torchrun if cases is distributed_cases and (mode, backend) == ("asked", "cpu") else forked
    )
    launch(worker, cases.__name__, mode, str(file), **variables)
    return [pickle.loads(Path(f"{file}{rank}").read_bytes()) for rank in (0, 1)]


Runs = dict[str, list[dict[str, Any]]]

BACKENDS = ["cpu", "sim", *(["mlx"] if find_spec("mlx") else [])]


def all_runs(cases: ModuleType, folder: Path) -> Runs:
    """The plain program's results, and those of the CUDA program on each backend."""
    runs = {"plain": results(cases, "plain", folder, "cpu")}
    for backend in BACKENDS:
        runs[backend] = results(cases, "asked", folder, backend)
    return runs


def proved(runs: Runs, cases: ModuleType, names: Mapping[str, str], backend: str) -> set[str]:
    """What both ranks did on ``backend`` with the plain program's results, by torch's names."""
    return {
        name
        for case, name in names.items()
        if all(
            case in runs[backend][rank] and agrees(runs, cases, case, backend, rank)
            for rank in (0, 1)
        )
    }


def agrees(runs: Runs, cases: ModuleType, case: str, backend: str, rank: int) -> bool:
    """Whether a rank found on ``backend`` what it has to find."""
    found, plain = runs[backend][rank][case], runs["plain"][rank][case]
    expected = getattr(cases, "NAMES", {}).get(case, plain)
    if backend == "mlx" and cases is distributed_training:
        return distributed_training.close(found, expected)  # its kernels are not torch's
    return bool(found == expected)


COLLECTIVES = {case: f"torch.distributed.{case}" for case in distributed_cases.CASES}
TRAINING = {
    "ddp": "torch.nn.parallel.DistributedDataParallel",
    "zero_redundancy_optimizer": "torch.distributed.optim.ZeroRedundancyOptimizer",
    "fsdp1": "torch.distributed.fsdp.FullyShardedDataParallel",
    "fsdp2": "torch.distributed.fsdp.fully_shard",
    "mesh_by_its_class": "torch.distributed.tensor.distribute_tensor",
    "sync_batch_norm": "torch.nn.SyncBatchNorm",
    "checkpoint": "torch.distributed.checkpoint.save",
}
"""What the cases execute, by torch's names."""


@pytest.fixture(scope="module")
def collectives(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("collectives")
    runs = all_runs(distributed_cases, folder)
    runs["copies"] = results(distributed_cases, "copies", folder, "sim")
    return runs


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return all_runs(distributed_training, tmp_path_factory.mktemp("training"))


def skip_unless_here(cases: ModuleType, name: str, backend: str) -> None:
    if not runs_here(cases, name, backend):
        pytest.skip(f"torch {since(cases, name, backend)} is the first that can: {cases.__name__}")


@pytest.mark.parametrize("backend", [*BACKENDS, "copies"])
@pytest.mark.parametrize("name", distributed_cases.CASES)
def test_nccl_by_name_does_what_gloo_does(name: str, backend: str, collectives: Runs) -> None:
    skip_unless_here(distributed_cases, name, "sim" if backend == "copies" else backend)
    for rank in (0, 1):
        assert agrees(collectives, distributed_cases, name, backend, rank), (
            collectives[backend][rank][name],
            collectives["plain"][rank][name],
        )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", distributed_training.CASES)
def test_training_in_words_of_cuda(name: str, backend: str, training: Runs) -> None:
    skip_unless_here(distributed_training, name, backend)
    for rank in (0, 1):
        assert agrees(training, distributed_training, name, backend, rank), (
            training[backend][rank][name],
            training["plain"][rank][name],
        )


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_catalog_calls_nothing_executed_that_the_ranks_did_not(
    backend: str, collectives: Runs, training: Runs
) -> None:
    done = proved(collectives, distributed_cases, COLLECTIVES, backend)
    done |= proved(training, distributed_training, TRAINING, backend)
    claimed = {
        name
        for row in catalog()["members"].values()
        for name in {*COLLECTIVES.values(), *TRAINING.values()} & set(row["exports"])
        if row[backend]["evidence"] == "executed"
    }
    assert claimed <= done, claimed - done
    assert len(claimed) > 50


def test_every_function_of_the_plan_is_called() -> None:
    assert len(distributed_cases.CASES) == 56
