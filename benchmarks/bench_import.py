"""``import tdev`` against ``import torch``: time, and peak memory."""

from __future__ import annotations

import statistics

from benchmarks import children
from benchmarks.rows import Row, ratio_of_medians, spread

RUNS = 15
_MIB = 2**20

# Peak memory is the kernel's own figure for the process: kilobytes on Linux, bytes on macOS.
_CODE = """
import json, resource, sys, time
start = time.perf_counter()
import {module}
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([seconds, peak]))
"""


def measure() -> list[Row]:
    seconds: dict[str, list[float]] = {"torch": [], "tdev": []}
    peaks: dict[str, list[float]] = {"torch": [], "tdev": []}
    for module in ("torch", "tdev"):
        children.run(_CODE.format(module=module))  # fills the page cache and __pycache__
    for _ in range(RUNS):
        for module in ("torch", "tdev"):
            took, peak = children.run(_CODE.format(module=module))
            seconds[module].append(took)
            peaks[module].append(peak / _MIB)
    ours, theirs = (statistics.median(seconds[m]) for m in ("tdev", "torch"))
    more = statistics.median(peaks["tdev"]) - statistics.median(peaks["torch"])
    return [
        Row(
            "import tdev / import torch, time",
            ratio_of_medians(seconds["tdev"], seconds["torch"]),
            "x",
            1.03,
            f"{ours:.2f} s ({spread(seconds['tdev'])}) and {theirs:.2f} s ({spread(seconds['torch'])});"
            f" medians of {RUNS} interleaved processes each",
        ),
        Row(
            "import tdev - import torch, peak memory",
            more,
            "MB",
            3.0,
            f"{statistics.median(peaks['torch']):.1f} MiB for torch; the same processes",
        ),
    ]
