"""Streams, events, graphs, memory and random numbers on the backends that have a device of their own,
and what environment variables of CUDA do where there is no CUDA."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("accelerator_flow.py")


def _run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("TDEV_")}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**clean, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("backend", ["sim", "mlx"])
def test_the_runtime_works_on_a_device_of_its_own(backend):
    if backend == "mlx" and importlib.util.find_spec("mlx") is None:
        pytest.skip("MLX is not installed")
    done = _run(os.fspath(SCRIPT), backend, TDEV_BACKEND=backend)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [
        "check_memory",
        "check_streams",
        "check_generic_streams",
        "check_random_numbers",
        "check_graphs",
        "check_facts",
        "check_types_and_copies",
    ]


_WORK = (
    "import torch\n"
    "from tdev_core import events, memory, properties, streams\n"
    "with streams.stream(streams.Stream()):\n"
    "    x = torch.ones(1 << 20)\n"
    "assert memory.allocated() >= 4 << 20 and memory.info()[1] > 0\n"
    "print(properties.is_available(), properties.device_count(), properties.current_device())\n"
)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"CUDA_VISIBLE_DEVICES": ""},
        {"CUDA_VISIBLE_DEVICES": "-1"},
        {"CUDA_VISIBLE_DEVICES": "1,0"},
        {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:128,expandable_segments:True"},
        {"CUDA_LAUNCH_BLOCKING": "1"},
    ],
    ids=lambda e: ",".join(f"{k}={v}" for k, v in e.items()) or "none",
)
def test_cudas_environment_variables_change_nothing_on_the_cpu(environment):
    done = _run("-c", _WORK, TDEV_BACKEND="cpu", **environment)
    assert done.stdout.split() == ["False", "0", "0"], done.stderr
