"""Ctrl-C and SIGTERM end each command of ``python -m tdev`` quietly, from its first moment, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.forkserver import environment

INTERRUPTS = (
    "import os, signal\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it\n"
    "os.kill(os.getpid(), signal.SIGINT)\n"
)
COMMANDS = ("audit", "badge", "diff", "explain", "native", "plan", "report", "run", "site", "tune")


def started(folder: Path, module: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a command where Ctrl-C arrives while ``module`` is imported."""
    (folder / module).mkdir(exist_ok=True)
    (folder / module / "__init__.py").write_text(INTERRUPTS)
    (folder / "train.py").write_text("import torch\ntorch.zeros(3).cuda()\n")
    env = environment()
    env["PYTHONPATH"] = os.pathsep.join([str(folder), *filter(None, sys.path)])
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_interrupted_while_torch_is_imported(
    command: str, tmp_path: Path
) -> None:
    done = started(tmp_path, "torch", "tdev", command, "train.py")
    assert (done.returncode, done.stderr, done.stdout) == (-signal.SIGINT, "", "")


@pytest.mark.parametrize("words", [("tdev.codemod", "."), ("tdev", "codemod", ".")])
def test_the_codemod_that_is_interrupted_while_it_is_imported(
    words: tuple[str, ...], tmp_path: Path
) -> None:
    done = started(tmp_path, "difflib", *words)
    assert done.returncode in (130, -signal.SIGINT) and "Traceback" not in done.stderr
    assert (tmp_path / "train.py").read_text() == "import torch\ntorch.zeros(3).cuda()\n"


def test_a_program_that_imports_tdev_is_interrupted_as_any_is(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("import tdev\n")
    done = started(tmp_path, "torch", "own")
    assert done.returncode == -signal.SIGINT and "Traceback" in done.stderr


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["SIGTERM", "SIGINT"]
)
def test_a_comparison_that_is_ended_leaves_nothing(
    number: int, status: int, tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (tmp_path / "train.py").write_text(
        f"import os, time\nos.kill(os.getppid(), {int(number)})\ntime.sleep(600)\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "from tdev_core.commands.cli import main; raise SystemExit(main())",
            "diff",
            "train.py",
        ],
        cwd=tmp_path,
        env={**environment(), "TMPDIR": str(scratch)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == status and done.stderr.endswith("\ntdev diff: stopped\n")
    assert not [*scratch.iterdir()]
