"""``import tdev`` against ``import torch``: time, and peak memory."""

from __future__ import annotations

import statistics

from benchmarks import children
from benchmarks.rows import Row, ratio_of_medians, spread

RUNS = 31
_MIB = 2**20

# Peak memory is the kernel's own figure for the process: kilobytes on Linux, bytes on macOS.
_CODE = """
import json, resource, sys, time
start, used = time.perf_counter(), time.process_time()
import {module}
seconds, used = time.perf_counter() - start, time.process_time() - used
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps([seconds, used, peak]))
"""


def measure() -> list[Row]:
    seconds: dict[str, list[float]] = {"torch": [], "tdev": []}
    used: dict[str, list[float]] = {"torch": [], "tdev": []}
    peaks: dict[str, list[float]] = {"torch": [], "tdev": []}
    for module in ("torch", "tdev"):
        children.run(_CODE.format(module=module))  # fills the page cache and __pycache__
    for _ in range(RUNS):
        for module in ("torch", "tdev"):
            took, processor, peak = children.run(_CODE.format(module=module))
            seconds[module].append(took)
            used[module].append(processor)
            peaks[module].append(peak / _MIB)
    more = statistics.median(peaks["tdev"]) - statistics.median(peaks["torch"])
    how = f"medians of {RUNS} interleaved processes each"
    return [
        _ratio("import tdev / import torch, time", seconds, how),
        _ratio("import tdev / import torch, processor time", used, "the same processes"),
        Row(
            "import tdev - import torch, peak memory",
            more,
            "MB",
            3.0,
            f"{statistics.median(peaks['torch']):.1f} MiB for torch; the same processes",
        ),
    ]


def _ratio(what: str, seconds: dict[str, list[float]], how: str) -> Row:
    ours, theirs = (
        f"{statistics.median(seconds[m]):.2f} s ({spread(seconds[m])})" for m in ("tdev", "torch")
    )
    ratio = ratio_of_medians(seconds["tdev"], seconds["torch"])
    return Row(what, ratio, "x", 1.03, f"{ours} and {theirs}; {how}")
