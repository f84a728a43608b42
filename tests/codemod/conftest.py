"""Fixtures of the codemod's tests."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tdev_core.codemod.cli import main

collect_ignore_glob = ["cases/*"]  # programs for the engine; some are named as tests are
ENGINE = "tests.codemod.small_engine"
BEFORE = b"import torch\n\ntorch.cuda.synchronize()\n"
AFTER = b"import torch\nimport tdev\n\ntdev.cuda.synchronize()\n"


@dataclass(frozen=True)
class Ran:
    """What one run of the command line came to."""

    status: int
    out: str
    err: str


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory outside every git repository."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def codemod(place: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> Callable[..., Ran]:
    """The command line with the small engine and one worker."""

    def run(*arguments: str, engine: str = ENGINE) -> Ran:
        capfdbinary.readouterr()
        try:
            status = main(["--jobs", "1", *arguments], engine=engine)
        except SystemExit as stop:
            status = int(stop.code or 0)
        out, err = capfdbinary.readouterr()
        return Ran(status, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))

    return run


@pytest.fixture
def git(place: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """git in the working directory, as somebody, without anybody's own settings."""
    for name, value in {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_SYSTEM": "/dev/null",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }.items():
        monkeypatch.setenv(name, value)

    def run(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=place, check=True, capture_output=True)

    return run
