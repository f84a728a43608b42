"""Streams, events, graphs, memory and random numbers on the backends that have a device of their own,
and what environment variables of CUDA do where there is no CUDA."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tests.forkserver import COMPILER, environment, python

SCRIPT = Path(__file__).with_name("accelerator_flow.py")


@pytest.mark.parametrize("backend", ["sim", "mlx"])
def test_the_runtime_works_on_a_device_of_its_own(backend):
    if backend == "mlx" and importlib.util.find_spec("mlx") is None:
        pytest.skip("MLX is not installed")
    done = python(str(SCRIPT), backend, env=environment(TDEV_BACKEND=backend), preload=COMPILER)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [
        "check_memory",
        "check_streams",
        "check_generic_streams",
        "check_random_numbers",
        "check_graphs",
        "check_facts",
        "check_types_and_copies",
        "check_traces",
    ]


_WORK = (
    "import torch\n"
    "from tdev_core.accelerators import events, streams\n"
    "from tdev_core.cuda import device_selection\n"
    "from tdev_core.cuda.memory import usage as memory\n"
    "with streams.stream(streams.Stream()):\n"
    "    x = torch.ones(1 << 20)\n"
    "assert memory.allocated() >= 4 << 20 and memory.info()[1] > 0\n"
    "print(device_selection.is_available(), device_selection.device_count(), device_selection.current_device())\n"
)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"CUDA_VISIBLE_DEVICES": ""}, marks=pytest.mark.deep),
        pytest.param(
            {"CUDA_VISIBLE_DEVICES": "-1", "CUDA_LAUNCH_BLOCKING": "1"}, marks=pytest.mark.deep
        ),
        {
            "CUDA_VISIBLE_DEVICES": "1,0",
            "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:128,expandable_segments:True",
        },
    ],
    ids=lambda e: ",".join(f"{k}={v}" for k, v in e.items()) or "none",
)
def test_cudas_environment_variables_change_nothing_on_the_cpu(settings):
    done = python("-c", _WORK, env=environment(TDEV_BACKEND="cpu", **settings))
    assert done.stdout.split() == ["False", "0", "0"], done.stderr
