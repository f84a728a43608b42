"""Runs pieces of Python in fresh processes and reads the one JSON object that each prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def environment(**extra: str) -> dict[str, str]:
    """Return the variables for a child: this process's without ``TDEV_*``, the checkout importable."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("TDEV_")}
    # Where bytecode is not kept, every child would compile tdev anew, but not torch, whose was
    # written when it was installed.
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT / "generated"), str(ROOT)])
    return {**env, **extra}


def run(code: str, **extra: str) -> Any:
    """Runs the code with TDEV_* unset but for ``extra``; returns what its last line holds."""
    answer = subprocess.run(
        [sys.executable, "-c", code], env=environment(**extra), capture_output=True, text=True
    )
    if answer.returncode != 0:
        raise RuntimeError(f"a benchmark's process failed:\n{answer.stderr}")
    return json.loads(answer.stdout.splitlines()[-1])


def run_module(name: str, **extra: str) -> Any:
    """Runs ``python -m NAME``; returns what its last line holds."""
    return run(f"import runpy; runpy.run_module({name!r}, run_name='__main__')", **extra)
