"""Programs on the device in processes of their own, since they may crash or hang."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.forkserver import ROOT, Program, python, start

__all__ = ["ROOT", "environment", "locked", "run", "run_module", "start_file", "wait_all"]


def environment(**settings: str) -> dict[str, str]:
    """This process's environment, tdev's settings included, with this tree importable, and ``settings``."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "generated")])
    return {**os.environ, "PYTHONPATH": path, **settings}


def run(
    code: str, *, fresh: bool = False, timeout: float = 120, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run ``python -c CODE``; in an interpreter of its own with ``fresh``, else where torch is imported already."""
    return python("-c", code, env=environment(**settings), timeout=timeout, fresh=fresh)


def run_module(
    module: str, *arguments: str, timeout: float = 400, **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run ``python -m MODULE ARGUMENTS``."""
    return python("-m", module, *arguments, env=environment(**settings), timeout=timeout)


def start_file(file: Path, *arguments: str, env: dict[str, str]) -> Program:
    """Start ``python FILE ARGUMENTS``, beside others; data-parallel training imports torch's compiler, so it has that."""
    return start(str(file), *arguments, env=env, preload=("torch._dynamo",))


def wait_all(programs: list[Program], timeout: float) -> list[subprocess.CompletedProcess[str]]:
    """Wait for the ends of programs that run side by side; without one of them the others are killed."""
    done: list[subprocess.CompletedProcess[str]] = []
    try:
        for program in programs:
            done.append(program.wait(timeout))
    finally:
        for program in programs[len(done) :]:
            program.kill()
    return done


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Let one process at a time work on what ``file`` stands for: test runs have several."""
    import fcntl  # not on Windows, which MLX is not on either

    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
