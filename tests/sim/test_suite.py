"""Run ``tests/sim/suite`` with ``TDEV_BACKEND=sim``, one process for each file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = Path(__file__).parent / "suite"
ROOT = Path(__file__).parents[2]
FILES = sorted(path.name for path in SUITE.glob("test_*.py"))


def test_there_is_a_suite() -> None:
    assert len(FILES) >= 8


@pytest.mark.parametrize("name", FILES)
def test_suite(name: str) -> None:
    environment = {
        **os.environ,
        "TDEV_BACKEND": "sim",
        "TDEV_SIM_DEVICES": "2",
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "generated")]),
    }
    for variable in ("TDEV_SIM_MEMORY", "TDEV_SIM_RNG", "PYTEST_ADDOPTS", "PYTEST_XDIST_WORKER"):
        environment.pop(variable, None)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-n0",
        str(SUITE / name),
    ]
    done = subprocess.run(
        command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=550
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-4000:]
    assert " passed" in done.stdout
