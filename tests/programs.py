"""Run a program in a process of its own that finds tdev the way this one does."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

from tests.forkserver import COMPILER, python

__all__ = ["COMPILER", "run"]


def run(
    code: str,
    *arguments: str,
    cwd: Path | None = None,
    fresh: bool = False,
    preload: tuple[str, ...] = (),
    **environment: str,
) -> str:
    """What the program printed; its stderr is the message where it fails.

    ``fresh`` is for what is about the start or the end of an interpreter, and ``preload`` for programs
    that compile; see ``tests/forkserver.py``.
    """
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), **environment}
    done = python(
        "-c", textwrap.dedent(code), *arguments, env=env, cwd=cwd, fresh=fresh, preload=preload
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()
