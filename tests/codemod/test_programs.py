"""Whole programs of several files, rewritten as one: they run, and say the same everywhere.

``programs/<name>/main.py`` and its modules were written for CUDA; ``expected.txt`` is what they print
there. A device travels through them as a string from a command line, a JSON file or a literal into
modules that never name CUDA. Each is rewritten in both styles and run on the CPU and the simulator,
and runs unchanged under ``tdev run``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tdev_core.codemod.engine import Names, Options, Style, rewrite

pytest.importorskip("tdev")

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PROGRAMS = sorted(path.parent for path in HERE.glob("programs/*/main.py"))
NAMES = [path.name for path in PROGRAMS]


def _environment(backend: str, home: Path) -> dict[str, str]:
    paths = [str(ROOT), str(ROOT / "generated"), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "TDEV_BACKEND": backend,
        "TDEV_CACHE_DIR": str(home / "cache"),
        "PYTHONPATH": os.pathsep.join(paths),
        "PYTHONWARNINGS": "ignore",
    }


def _python(arguments: list[str], backend: str, home: Path) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        env=_environment(backend, home),
        cwd=home,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module", params=["explicit", "alias"])
def rewritten(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All programs, rewritten in one style."""
    home = tmp_path_factory.mktemp(request.param)
    shutil.copytree(HERE / "programs", home / "programs")
    style: Style = request.param
    for path in home.rglob("*.py"):
        result = rewrite(path.read_text(), Names.load(), Options(style=style), filename=path.name)
        path.write_text(result.code)
    return home


@pytest.fixture(scope="module", params=["cpu", "sim"])
def outputs(request: pytest.FixtureRequest, rewritten: Path) -> dict[str, str]:
    directories = [str(rewritten / "programs" / name) for name in NAMES]
    said = _python([str(HERE / "run_programs.py"), *directories], request.param, rewritten)
    found: dict[str, str] = json.loads(said.splitlines()[-1])
    return found


@pytest.mark.parametrize("name", NAMES)
def test_rewritten(name: str, outputs: dict[str, str]) -> None:
    assert outputs[name] == (HERE / "programs" / name / "expected.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_under_tdev_run(name: str, tmp_path: Path) -> None:
    program = tmp_path / "programs" / name
    shutil.copytree(HERE / "programs" / name, program)
    said = _python(["-m", "tdev", "run", str(program / "main.py")], "sim", tmp_path)
    assert said == (program / "expected.txt").read_text()
