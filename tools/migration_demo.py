"""The README's first command: what a person does who has a CUDA-only script and no CUDA."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from tools import environment, progress

ROOT = environment.ROOT
DEMO = ROOT / ".demo"
EXAMPLE = ROOT / "examples" / "train_gpt.py"


def main() -> int:
    arguments = _parse()
    try:
        python = environment.ensure("codemod")
    except environment.SetupError as error:
        print(f"\nSetting up failed: {error}", file=sys.stderr)
        return 2
    script = _fresh_copy()

    progress.heading("the script under stock torch on this machine")
    print(_last_line_of_stock(python, script))

    progress.heading(f"python -m tdev.codemod --diff {_shown(script)}")
    codemod = [str(python), "-m", "tdev.codemod"]
    # --diff only shows: the next command writes. Exit status 1 means that there is something to change.
    for options in (["--diff"], ["--quiet"]):
        status = _run([*codemod, *options, _shown(script)])
        if status not in (0, 1):
            print(f"\nThe codemod ended with exit status {status}.", file=sys.stderr)
            return 2

    progress.heading(f"python {_shown(script)}")
    train = [str(python), str(script), "--out", str(DEMO / "run")]
    train += ["--losses", str(DEMO / "run" / "losses.json")]
    if arguments.steps is not None:
        train += ["--steps", str(arguments.steps)]
    status = _run(train, TDEV_REPORT="1")
    if status:
        print(f"\nThe training ended with exit status {status}.", file=sys.stderr)
        return status

    progress.heading("done")
    print(f"migrated script  {_shown(script)}\noriginal         {_shown(EXAMPLE)}")
    print(f"checkpoint, samples and losses in {_shown(DEMO / 'run')}")
    print(
        f"the original, unchanged:  .venv/bin/python -m tdev run {_shown(EXAMPLE)} --out .demo/run"
    )
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tools/try_it.py",
        description="Migrates a copy of the example, shows the diff, trains it, prints the routes.",
    )
    parser.add_argument("--steps", type=int, help="training steps (default: the example's own)")
    return parser.parse_args()


def _fresh_copy() -> Path:
    target = DEMO / "migrated"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(EXAMPLE.parent, target, ignore=shutil.ignore_patterns("__pycache__", "runs"))
    return target / EXAMPLE.name


def _last_line_of_stock(python: Path, script: Path) -> str:
    command = [
        str(python),
        str(script),
        "--steps",
        "1",
        "--workers",
        "0",
        "--out",
        str(DEMO / "stock"),
    ]
    answer = subprocess.run(
        command, env=environment.child_environment(), cwd=ROOT, capture_output=True, text=True
    )
    if answer.returncode == 0:
        return "It runs: this machine has CUDA. What follows goes the same way without."
    lines = answer.stderr.strip().splitlines()
    return lines[-1] if lines else f"exit status {answer.returncode}"


def _run(command: list[str], **extra: str) -> int:
    """Runs a command with its output shown as it comes; returns the exit status."""
    return subprocess.run(command, env=environment.child_environment(**extra), cwd=ROOT).returncode


def _shown(path: Path) -> str:
    return str(path.relative_to(ROOT))
