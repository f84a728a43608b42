"""The distributions, built once, and an empty virtual environment that holds the wheel."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def build(folder: Path, *arguments: str, **environment: str) -> None:
    """Build the distributions, or those that the arguments name, into a folder."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    answer = subprocess.run(
        [*command, *arguments, str(ROOT)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-3000:]


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder


@pytest.fixture(scope="session")
def wheel(distributions: Path) -> Path:
    (found,) = distributions.glob("*.whl")
    return found


@pytest.fixture(scope="session")
def sdist(distributions: Path) -> Path:
    (found,) = distributions.glob("*.tar.gz")
    return found


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs the Python of a virtual environment that holds nothing but the wheel and what it requires."""
    place = tmp_path_factory.mktemp("empty venv")  # with a blank in its path
    venv = place / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    python = venv / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TDEV_", "PYTHON"))}

    def run(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        command = [str(python), *arguments]
        return subprocess.run(
            command, cwd=place, env={**env, **extra}, capture_output=True, text=True, timeout=500
        )

    answer = run("-m", "pip", "install", "-c", str(ROOT / "constraints.txt"), str(wheel))
    assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-3000:]
    yield run
    shutil.rmtree(venv)  # gigabytes, which pytest would keep for a while
