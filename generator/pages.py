"""Write folders of documentation that are made from code, or tell where they are stale."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from generator import paths
from generator.render.writer import compare, write_tree

__all__ = ["ask", "keep"]


def ask(program: str) -> Any:
    """What ``program`` prints as JSON, run apart: the generator imports neither library nor mirror."""
    path = os.pathsep.join(map(str, (paths.ROOT, paths.GENERATED)))
    out = subprocess.run(
        [sys.executable, "-c", program],
        cwd=paths.ROOT,
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    ).stdout
    return json.loads(out)


def keep(
    folder: Path, pages: dict[str, str], command: str, about: str, argv: list[str] | None
) -> int:
    """Make ``folder`` hold exactly ``pages``; with ``--check`` print the diff and return 1 instead.

    Args:
        pages: text by file name.
        command: the module that was run, for the message that tells how to mend drift.
        about: what the module does, for its help.
        argv: the command line; None for this process's own.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {command}", description=about)
    parser.add_argument("--check", action="store_true", help="exit 1 if a page is stale")
    if not parser.parse_args(argv).check:
        written, deleted = write_tree(folder, pages)
        print(f"{folder.name}/: {len(pages)} pages, {written} written, {deleted} deleted")
        return 0
    diff = list(compare(folder, pages))
    sys.stdout.writelines(diff)
    if diff:
        print(f"{folder.name}/ is stale; run: python -m {command}")
    return 1 if diff else 0
