"""Whole programs of several files, rewritten as one: they run, and say the same everywhere.

``programs/<name>/main.py`` and its modules were written for CUDA; ``expected.txt`` is what they print
there. A device travels through them as a string from a command line, a JSON file or a literal into
modules that never name CUDA. Each is rewritten in both styles and run on the CPU and the simulator,
and runs unchanged under ``tdev run``.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tdev_core.codemod.engine import STYLES, Names, Options, rewrite
from tests.codemod import forked

pytest.importorskip("tdev")

HERE = Path(__file__).parent
NAMES = sorted(path.parent.name for path in HERE.glob("programs/*/main.py"))
WAYS = ["explicit", "alias", "run"]
RUNS = [
    *((way, backend, name) for way in WAYS[:2] for backend in ("cpu", "sim") for name in NAMES),
    *(("run", "sim", name) for name in NAMES),
]

pytestmark = pytest.mark.xdist_group("codemod programs")  # one process runs them all


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str, str], Any]:
    """What each program came to, by way, backend and name."""
    homes = {way: tmp_path_factory.mktemp(way) for way in WAYS}
    for way, home in homes.items():
        shutil.copytree(HERE / "programs", home / "programs")
        for style in STYLES:
            for path in home.rglob("*.py") if style == way else ():
                code = rewrite(path.read_text(), Names.load(), Options(style=style)).code
                path.write_text(code)
    jobs = []
    for way, backend, name in RUNS:
        program = str(homes[way] / "programs" / name / "main.py")
        jobs.append(
            {
                "arguments": ["-m", "tdev", "run", program] if way == "run" else [program],
                "cwd": str(homes[way]),
                "variables": {"TDEV_BACKEND": backend, "TDEV_CACHE_DIR": str(homes[way] / "cache")},
            }
        )
    return dict(zip(RUNS, forked.outcomes(jobs), strict=True))


def _said(outcome: dict[str, Any]) -> str:
    assert outcome["status"] == 0, outcome["err"]
    said: str = outcome["out"]
    return said


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("backend", ["cpu", "sim"])
@pytest.mark.parametrize("style", ["explicit", "alias"])
def test_rewritten(
    style: str, backend: str, name: str, outcomes: dict[tuple[str, str, str], Any]
) -> None:
    expected = (HERE / "programs" / name / "expected.txt").read_text()
    assert _said(outcomes[style, backend, name]) == expected


@pytest.mark.parametrize("name", NAMES)
def test_under_tdev_run(name: str, outcomes: dict[tuple[str, str, str], Any]) -> None:
    expected = (HERE / "programs" / name / "expected.txt").read_text()
    assert _said(outcomes["run", "sim", name]) == expected


def test_there_are_programs() -> None:
    assert len(NAMES) >= 5
