"""Start-up of ``python -m tdev run`` against plain Python, in one run and as ratios.

    python benchmarks/bench_run.py [--rounds 9]

Four ways to start the same program of ten modules, interleaved: plain Python with torch; plain Python
with the program migrated by hand (``import tdev as torch``); ``tdev run`` with an empty cache; and
``tdev run`` the second time. The third against the second is what the rules cost once, the fourth
against the second what they cost from then on.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULES = 10
MODULE = """\
import torch


def step(x):
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return x.to("cuda" if torch.cuda.is_available() else "cpu")


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(step(x))
"""
PLAIN, MIGRATED, FIRST, SECOND = "python", "python, migrated", "tdev run, first", "tdev run, second"


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        for name, first in {"plain": "import torch", "migrated": "import tdev as torch"}.items():
            _program(place / name, first)
        cache = place / "cache"
        _start(place, FIRST, cache)  # reads everything from the disk once
        _start(place, PLAIN, cache)
        _start(place, MIGRATED, cache)
        seconds: dict[str, list[float]] = {n: [] for n in (PLAIN, MIGRATED, FIRST, SECOND)}
        for _ in range(rounds):
            shutil.rmtree(cache)
            for name, found in seconds.items():
                found.append(_start(place, name, cache))
    base = statistics.median(seconds[MIGRATED])
    print(f"{'way':<18} {'median':>9} {'to migrated':>12}")
    for name, found in seconds.items():
        median = statistics.median(found)
        print(f"{name:<18} {median:>7.3f} s {median / base:>10.3f} x")
    return 0


def _program(directory: Path, first: str) -> None:
    directory.mkdir()
    for index in range(MODULES):
        (directory / f"m{index}.py").write_text(MODULE.replace("import torch\n", f"{first}\n", 1))
    names = ", ".join(f"m{index}" for index in range(MODULES))
    (directory / "main.py").write_text(f"{first}\nimport {names}\nm0.Model()(torch.ones(1, 2))\n")


def _start(place: Path, name: str, cache: Path) -> float:
    program = place / ("migrated" if name == MIGRATED else "plain") / "main.py"
    way = ["-m", "tdev", "run"] if name in (FIRST, SECOND) else []
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT / "generated"), str(ROOT)]),
        "TDEV_CACHE_DIR": str(cache),
        "TDEV_BACKEND": "cpu",
    }
    start = time.perf_counter()
    subprocess.run([sys.executable, *way, str(program)], check=True, env=environment)
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
