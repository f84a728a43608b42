"""How the generator's process ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

HEAVY = """
class Heavy:
    def __del__(self):
        print("taken apart")

heavy = Heavy()
"""
PROGRAM = """
import atexit, sys
from generator.running.garbage import leave

atexit.register(print, "registered")
print("said", end=" ")
print("an error", end="", file=sys.stderr)
leave(3)
"""


def ended(*arguments: str, **environment: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONUNBUFFERED": "", **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr


def test_leaving_says_all_that_was_said_and_takes_nothing_apart() -> None:
    assert ended("-c", HEAVY) == (0, "taken apart\n", "")
    assert ended("-c", HEAVY + PROGRAM) == (3, "said registered\n", "an error")


def test_the_generator_leaves_so(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        HEAVY
        + "import importlib.metadata as m\n"
        + "def missing(name): raise m.PackageNotFoundError(name)\n"
        + "m.version = missing\n"
    )
    status, said, error = ended("-m", "generator", PYTHONPATH=str(tmp_path))
    assert (status, said) == (2, "") and "torch is not installed" in error
