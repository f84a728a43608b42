"""Programs written for NCCL, run by two ranks on a host without CUDA."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.core import distributed_cases, distributed_training

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


def results(
    cases: ModuleType, mode: str, folder: Path, backend: str, without: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """What each rank found in one run of the worker."""
    file = folder / f"{cases.__name__}-{mode}-{backend}-"
    worker = str(HERE / "distributed_worker.py")
    variables = {"RENDEZVOUS_FILE": f"{file}store", "TDEV_BACKEND": backend}
    torchrun(worker, cases.__name__, mode, str(file), *without, **variables)
    return [pickle.loads(Path(f"{file}{rank}").read_bytes()) for rank in (0, 1)]


Runs = dict[str, list[dict[str, Any]]]

ON_SIM_NOT = {
    "fsdp1": "flat parameters free and regrow their storage, which sim does not allow",
}


def all_runs(cases: ModuleType, folder: Path) -> Runs:
    """The plain program's results, and those of the CUDA program on two backends."""
    return {
        "plain": results(cases, "plain", folder, "cpu"),
        "cpu": results(cases, "asked", folder, "cpu"),
        "sim": results(cases, "asked", folder, "sim", ON_SIM_NOT),
    }


@pytest.fixture(scope="module")
def collectives(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("collectives")
    runs = all_runs(distributed_cases, folder)
    runs["copies"] = results(distributed_cases, "copies", folder, "sim")
    return runs


@pytest.fixture(scope="module")
def training(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return all_runs(distributed_training, tmp_path_factory.mktemp("training"))


@pytest.mark.parametrize("backend", ["cpu", "sim", "copies"])
@pytest.mark.parametrize("name", distributed_cases.CASES)
def test_nccl_by_name_does_what_gloo_does(name: str, backend: str, collectives: Runs) -> None:
    for rank in (0, 1):
        plain = collectives["plain"][rank][name]
        assert collectives[backend][rank][name] == distributed_cases.NAMES.get(name, plain)


@pytest.mark.parametrize("backend", ["cpu", "sim"])
@pytest.mark.parametrize("name", distributed_training.CASES)
def test_training_in_words_of_cuda(name: str, backend: str, training: Runs) -> None:
    if backend == "sim" and name in ON_SIM_NOT:
        pytest.skip(ON_SIM_NOT[name])
    for rank in (0, 1):
        assert training[backend][rank][name] == training["plain"][rank][name]


def test_every_function_of_the_plan_is_called() -> None:
    assert len(distributed_cases.CASES) == 56
