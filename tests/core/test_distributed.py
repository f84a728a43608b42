"""Programs written for NCCL, run by two ranks on a host without CUDA."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
from pathlib import Path
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


def results(cases: str, mode: str, folder: Path) -> list[dict[str, Any]]:
    """What each rank found in one run of the worker."""
    file = folder / f"{cases}-{mode}-"
    torchrun(
        str(HERE / "distributed_worker.py"), cases, mode, str(file), RENDEZVOUS_FILE=f"{file}store"
    )
    return [pickle.loads(Path(f"{file}{rank}").read_bytes()) for rank in (0, 1)]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, list[dict[str, Any]]]]:
    folder = tmp_path_factory.mktemp("ranks")
    return {
        cases.__name__: {mode: results(cases.__name__, mode, folder) for mode in ("asked", "plain")}
        for cases in (distributed_cases, distributed_training)
    }


@pytest.mark.parametrize("name", distributed_cases.CASES)
def test_nccl_by_name_does_what_gloo_does(name: str, runs: Any) -> None:
    for rank in (0, 1):
        found = {
            mode: ranks[rank][name] for mode, ranks in runs[distributed_cases.__name__].items()
        }
        assert found["asked"] == distributed_cases.NAMES.get(name, found["plain"])


@pytest.mark.parametrize("name", distributed_training.CASES)
def test_training_in_words_of_cuda(name: str, runs: Any) -> None:
    for rank in (0, 1):
        found = {
            mode: ranks[rank][name] for mode, ranks in runs[distributed_training.__name__].items()
        }
        assert found["asked"] == found["plain"]


def test_every_function_of_the_plan_is_called() -> None:
    assert len(distributed_cases.CASES) == 56
