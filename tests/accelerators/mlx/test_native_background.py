"""Native kernels build themselves: once, in the background, where that is wanted and possible."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from tdev_core import caches
from tdev_core.accelerators.mlx import native
from tdev_core.accelerators.mlx.native import background
from tdev_core.accelerators.mlx.native.background import LIBRARY
from tdev_core.accelerators.privateuse import native as building
from tests.accelerators.mlx.programs import run

PROGRAM = """
import torch, tdev_core.accelerators.mlx
tdev_core.accelerators.mlx.activate()
print((torch.ones(3, device="mlx") + 1).tolist())
"""
AT_ONCE = """
from tdev_core.accelerators.mlx.native import background
background._CHILD = "import os; os.nice = int\\n" + background._CHILD
"""
"""What builds lets every other process go first, so that beside tests it would take minutes to begin."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TDEV_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TDEV_NATIVE_BUILD", "1")
    monkeypatch.delenv("TDEV_NATIVE", raising=False)
    monkeypatch.setattr(background, "_can_build", lambda: True)
    return tmp_path / "cache"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The claims with which the other process would have been started."""
    found: list[Path] = []
    monkeypatch.setattr(background, "_start", found.append)
    return found


def join() -> None:
    for thread in threading.enumerate():
        if thread.name == "tdev-native":
            thread.join()


def test_the_first_program_starts_it_and_says_so_once(
    cache: Path, started: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert not native.state().endswith("in the background")
    assert [background.begin(), background.begin()] == [True, False]
    join()
    assert started == [LIBRARY.claim()]
    assert capsys.readouterr().err.count("being built in the background, once") == 1
    assert native.state().endswith("native ones are being built in the background")


def test_many_programs_at_once_start_one(cache: Path, started: list[Path]) -> None:
    ready, answers = threading.Barrier(8), list[bool]()

    def program() -> None:
        ready.wait()
        answers.append(background.begin())

    threads = [threading.Thread(target=program) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    join()
    assert sorted(answers) == [False] * 7 + [True] and len(started) == 1


def test_a_claim_of_yesterday_is_taken_over(cache: Path, started: list[Path]) -> None:
    claim = LIBRARY.claim()
    assert caches.claim(claim, seconds=60.0) and not background.begin()
    os.utime(claim, (time.time() - 2 * background._DAY,) * 2)
    assert background.begin()


@pytest.mark.parametrize("why", ["switched off", "no compiler", "nowhere", "read only"])
def test_it_is_left_alone(
    why: str,
    cache: Path,
    started: list[Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if why == "switched off":
        monkeypatch.setenv("TDEV_NATIVE_BUILD", "0")
    elif why == "no compiler":
        monkeypatch.undo()
        monkeypatch.setenv("TDEV_CACHE_DIR", str(cache))
        monkeypatch.setenv("TDEV_NATIVE_BUILD", "1")
        monkeypatch.setenv("CXX", "/nowhere/c++")
    elif why == "nowhere":
        monkeypatch.setattr(caches, "directory", lambda what: None)
    else:
        cache.write_text("what cannot be written to, for root too")
    assert not background.begin()
    assert started == [] and capsys.readouterr().err == ""


def test_an_application_with_python_in_it_is_not_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/opt/app/blender")
    assert not background._can_build()


def test_what_is_built_is_there_as_a_whole_and_the_claim_is_gone(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = tmp_path / "made"
    made.write_bytes(b"library")
    monkeypatch.setattr(building.Library, "compile", lambda library, scratch: made)
    monkeypatch.setattr(os, "nice", lambda more: None, raising=False)
    library = LIBRARY.location()
    assert caches.claim(LIBRARY.claim(), seconds=60.0)
    assert background.work() == 0
    assert library.read_bytes() == b"library"
    assert [path.name for path in library.parent.iterdir()] == [library.name]


def test_a_program_goes_on_while_a_build_fails_behind_it(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End to end, with a compiler that refuses: one line, the right answer, and the next program does not try again."""
    compiler = tmp_path / "c++"
    compiler.write_text("#!/bin/sh\necho no such kernel >&2; exit 3\n")
    compiler.chmod(0o700)
    for name in ("CC", "CXX"):
        monkeypatch.setenv(name, str(compiler))
    done = run(AT_ONCE + PROGRAM)
    assert done.stdout == "[2.0, 2.0, 2.0]\n", done.stderr
    assert done.stderr.count("TDEV_NATIVE_BUILD=0") == 1
    claim = LIBRARY.claim()
    for _ in range(1200):
        if caches.read(claim):
            break
        time.sleep(0.1)
    assert "could not be built in the background" in native.state()
    assert not LIBRARY.location().exists()
    again: subprocess.CompletedProcess[str] = run(PROGRAM)
    assert (again.stdout, again.stderr) == ("[2.0, 2.0, 2.0]\n", "")
