"""Fixtures for ``tdev run``: a directory with a program, and the runner as a real process.

Most tests put a small package in the place of the mirror. What they are about (lines, arguments,
processes, caches) does not depend on what the mirror holds, and importing torch for each of them
would take minutes. ``test_real.py`` runs against the real one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = """\
class cuda:
    @staticmethod
    def synchronize():
        return "{}"
"""

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program's directory; the working directory is another one."""
    for name, answer in {"tdev": "mirrored", "torch": "not mirrored"}.items():
        package = tmp_path / "mirror" / name
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(STAND_IN.format(answer))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    directory = tmp_path / "app"
    directory.mkdir()
    return directory


@pytest.fixture
def environment(app: Path) -> dict[str, str]:
    """What the runner's process gets: the stand-ins, this source, a cache of its own."""
    path = os.pathsep.join([str(app.parent / "mirror"), str(ROOT)])
    cache = str(app.parent / "cache")
    # What is set for this test run (a backend, options of pytest) is not meant for the programs.
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TDEV_", "PYTEST_"))}
    return {
        **kept,
        "PYTHONPATH": path,
        "TDEV_CACHE_DIR": cache,
        "PYTHONWARNINGS": "default",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


@pytest.fixture
def python(environment: dict[str, str]) -> Run:
    """A Python process with that environment."""

    def run(
        *arguments: str, input: str = "", env: dict[str, str] = environment, cwd: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        # A session of its own: what hangs is ended with all that it started.
        process = subprocess.Popen(
            command,
            env=env,
            cwd=cwd,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            out, err = process.communicate(input, timeout=60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    return run


@pytest.fixture
def run(python: Run) -> Run:
    """``python -m tdev run`` without the mirror's own import."""
    return lambda *arguments, **options: python("-m", "tdev_core.run", *arguments, **options)
