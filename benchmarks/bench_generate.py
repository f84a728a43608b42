"""Seconds to regenerate everything from nothing, and to find that nothing has changed.

Runs in a copy of the tree, so that the working tree is not touched.
"""

from __future__ import annotations

import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.children import ROOT, environment
from benchmarks.rows import Row

_PARTS = ("generator", "templates", "tdev_core", "pyproject.toml", "constraints.txt")
_RUNS = 3


def measure() -> list[Row]:
    first, second = list[Cost](), list[Cost]()
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
        _row("regenerate everything", first, 20.0),
        _row("regenerate when nothing changed", second, 2.0),
    ]


@dataclass(frozen=True)
class Cost:
    """Seconds by the clock, and seconds of processor time of all processes involved."""

    wall: float
    processor: float


def _row(what: str, costs: list[Cost], limit: float) -> Row:
    wall = statistics.median(c.wall for c in costs)
    processor = statistics.median(c.processor for c in costs)
    return Row(what, wall, "s", limit, f"median of {_RUNS}; processor time {processor:.1f} s")


def _generate(tree: Path) -> Cost:
    start, used = time.perf_counter(), _processor()
    env = environment(PYTHONPATH=str(tree), TDEV_CACHE_DIR=str(tree / "cache"))
    subprocess.run(
        [sys.executable, "-m", "generator"], cwd=tree, env=env, check=True, capture_output=True
    )
    return Cost(time.perf_counter() - start, _processor() - used)


def _processor() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime
