"""Facts of a torch that is not installed: what is said where they cannot be had, and what is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from generator.facts import deltas
from generator.facts.elsewhere import keep_sources, why
from tests.generator.small import with_the_pinned

ROOT = Path(__file__).resolve().parent.parent.parent
_NONE = "ERROR: No matching distribution found for torch==9.9.9\n"


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "ERROR: Could not find a version that satisfies the requirement torch==9.9.9 (from versions: "
            f"2.0.0, 2.12.0, 2.13.0, 2.14.0, 2.15.0)\n{_NONE}",
            "the newest that it finds: 2.12.0, 2.13.0, 2.14.0, 2.15.0",
        ),
        (
            "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError'\n"
            "ERROR: Could not find a version that satisfies the requirement torch==9.9.9 (from versions: none)\n"
            + _NONE,
            "pip found no torch at all: is its index reached from here?",
        ),
        (
            "ERROR: Cannot install torch==9.9.9 because these package versions have conflicting dependencies.\n"
            "ERROR: ResolutionImpossible: for help visit https://pip.pypa.io\n",
            "conflicting dependencies",
        ),
        (
            "ERROR: Cannot install torch==9.9.9 because these package versions have conflicting dependencies.\n"
            "\nThe conflict is caused by:\n    The user requested torch==9.9.9\n"
            "    The user requested (constraint) torch<=9.9.1\n\nTo fix this you could try to:\n1. loosen\n",
            "conflicts: The user requested torch==9.9.9; The user requested (constraint) torch<=9.9.1",
        ),
        ("", "pip gives no reason"),
    ],
    ids=["no such release", "no network", "a conflict", "a constraint", "nothing"],
)
def test_why_pip_installed_nothing(said: str, told: str) -> None:
    assert told in why(said)


@pytest.mark.parametrize("lib", ["lib/python3.11", "Lib"], ids=["POSIX", "Windows"])
def test_what_a_person_reads_of_it_is_kept(tmp_path: Path, lib: str) -> None:
    home = tmp_path / "environment" / lib / "site-packages" / "torch"
    for name in (
        "cuda/new.py",
        "_C/__init__.pyi",
        "lib/libtorch.so",
        "cuda/new.pyc",
        "../numpy/one.py",
    ):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(name)
    into = tmp_path / "kept"
    (into / "torch").mkdir(parents=True)
    (into / "torch" / "of_before.py").write_text("")
    keep_sources(tmp_path / "environment", into)
    kept = {path.relative_to(into).as_posix() for path in into.rglob("*") if path.is_file()}
    assert kept == {"torch/cuda/new.py", "torch/_C/__init__.pyi"}
    assert (into / "torch/cuda/new.py").read_text() == "cuda/new.py"


@with_the_pinned
@pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")
def test_an_interrupted_record_leaves_nothing(tmp_path: Path) -> None:
    """Neither half a file nor the environment, of gigabytes, that it was making."""
    before = deltas.recorded()
    command = [sys.executable, "-m", "generator.facts", "--torch", "9.9.9"]
    env = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "PIP_NO_INDEX": "1"}
    running = subprocess.Popen(
        command, cwd=ROOT, env=env, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert running.stderr is not None
    assert "pip installs torch 9.9.9" in running.stderr.readline()
    os.killpg(running.pid, signal.SIGINT)  # as a terminal does: pip gets it too
    assert running.stderr.read() == "interrupted; nothing was recorded\n"
    assert running.wait() == 130
    assert [*tmp_path.iterdir()] == [] and deltas.recorded() == before
