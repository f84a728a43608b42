"""Whole programs of several files, rewritten as one: they run, and say the same everywhere.

``programs/<name>/main.py`` and its modules were written for CUDA; ``expected.txt`` is what they print
there. A device travels through them as a string from a command line, a JSON file or a literal into
modules that never name CUDA. Each is rewritten in both styles and run on the CPU and the simulator,
and runs unchanged under ``tdev run``.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tdev_core.codemod.engine import Names, Options, Style, rewrite
from tests.forkserver import COMPILER, environment, python

pytest.importorskip("tdev")

HERE = Path(__file__).parent
NAMES = sorted(path.parent.name for path in HERE.glob("programs/*/main.py"))


def _said(*arguments: str, backend: str, home: Path, preload: tuple[str, ...] = ()) -> str:
    settings = environment(TDEV_BACKEND=backend, TDEV_CACHE_DIR=str(home / "cache"))
    done = python(*arguments, env=settings, cwd=home, preload=preload)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


@pytest.mark.parametrize("backend", ["cpu", "sim"])
@pytest.mark.parametrize("style", ["explicit", "alias"])
@pytest.mark.parametrize("name", NAMES)
def test_rewritten(name: str, style: Style, backend: str, tmp_path: Path) -> None:
    program = tmp_path / name
    shutil.copytree(HERE / "programs" / name, program)
    for path in program.rglob("*.py"):
        result = rewrite(path.read_text(), Names.load(), Options(style=style), filename=path.name)
        path.write_text(result.code)
    # torch's optimizers import the compiler.
    said = _said(str(program / "main.py"), backend=backend, home=tmp_path, preload=COMPILER)
    assert said == (program / "expected.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_under_tdev_run(name: str, tmp_path: Path) -> None:
    program = tmp_path / name
    shutil.copytree(HERE / "programs" / name, program)
    arguments = ["-m", "tdev", "run", str(program / "main.py")]
    said = _said(*arguments, backend="sim", home=tmp_path, preload=COMPILER)
    assert said == (program / "expected.txt").read_text()


def test_there_are_programs() -> None:
    assert len(NAMES) >= 5
