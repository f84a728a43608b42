"""Seconds to regenerate everything from nothing, and to find that nothing has changed.

Runs in a copy of the tree, so that the working tree is not touched.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.children import ROOT, environment
from benchmarks.rows import Row

_PARTS = ("generator", "templates", "tdev_core", "pyproject.toml", "constraints.txt")
_RUNS = 3


def measure() -> list[Row]:
    first, second = list[float](), list[float]()
    with tempfile.TemporaryDirectory(prefix="tdev-bench-") as folder:
        tree = Path(folder)
        for part in _PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, tree / part)
            else:
                shutil.copy(source, tree)
        for _ in range(_RUNS):
            shutil.rmtree(tree / "generated", ignore_errors=True)
            (tree / "catalog.json").unlink(missing_ok=True)
            shutil.rmtree(tree / "cache", ignore_errors=True)
            first.append(_generate(tree))
            second.append(_generate(tree))
    return [
        Row("regenerate everything", statistics.median(first), "s", 20.0, f"median of {_RUNS}"),
        Row(
            "regenerate when nothing changed",
            statistics.median(second),
            "s",
            2.0,
            f"median of {_RUNS}, each right after the other",
        ),
    ]


def _generate(tree: Path) -> float:
    start = time.perf_counter()
    env = environment(PYTHONPATH=str(tree), TDEV_CACHE_DIR=str(tree / "cache"))
    subprocess.run(
        [sys.executable, "-m", "generator"], cwd=tree, env=env, check=True, capture_output=True
    )
    return time.perf_counter() - start
