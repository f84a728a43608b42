"""Threads and memory: a few seconds of what `stress.py` does for as long as it is asked to."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

from tests.forkserver import COMPILER, environment, python

FILE = Path(__file__).with_name("stress.py")
HAS_MLX = importlib.util.find_spec("mlx") is not None
BACKENDS = [
    "cpu",
    "sim",
    pytest.param(
        "mlx",
        marks=pytest.mark.skipif(
            not HAS_MLX, reason="MLX is not installed: pip install 'tdev[mlx]'"
        ),
    ),
]
linux = pytest.mark.skipif(sys.platform != "linux", reason="resident memory is read from /proc")


def run(
    backend: str, *arguments: str, seconds: str = "1", compiled: str = "0", timeout: float = 200
) -> str:
    env = environment(
        TDEV_BACKEND=backend,
        TDEV_STRESS_SECONDS=seconds,
        TDEV_STRESS_COMPILED=compiled,
        PYTHONWARNINGS="ignore",
    )
    preload = COMPILER if compiled == "1" else ()
    done = python(str(FILE), *arguments, env=env, preload=preload, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    return done.stdout


@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_that_do_everything_at_once(backend: str) -> None:
    assert "nothing lost" in run(backend)


@linux
@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_is_level_while_shapes_change(backend: str) -> None:
    run(backend, "800")


@pytest.mark.deep
@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_that_compile_too(backend: str) -> None:
    assert "nothing lost" in run(backend, seconds="30", compiled="1", timeout=400)


@linux
@pytest.mark.deep
@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_is_level_after_a_hundred_thousand_steps(backend: str) -> None:
    run(backend, "100000", timeout=900)
