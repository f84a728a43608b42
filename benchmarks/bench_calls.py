"""What a wrapped function and a shimmed method add to the call that they make, in nanoseconds.

Both sides run in one process and by turns, a few thousand calls at a time. For methods the shims are
taken off for torch's turn: then the very same expression is torch's own. What is counted is processor
time, which other programs on the machine do not inflate.
"""

from __future__ import annotations

import json
import statistics
import time
import timeit
from dataclasses import dataclass

from benchmarks import children
from benchmarks.rows import Row

BUDGET_NS = 150.0
_CALLS = 4000
_TURNS = 61


@dataclass(frozen=True)
class Pair:
    """Our expression and the one it is compared with, in terms of ``tdev``, ``torch`` and ``x``."""

    what: str
    ours: str
    theirs: str
    limit: float | None = BUDGET_NS


PAIRS = [
    Pair("tdev.zeros(3)", "tdev.zeros(3)", "torch.zeros(3)"),
    Pair(
        'tdev.zeros(3, device="cuda")',
        'tdev.zeros(3, device="cuda")',
        'torch.zeros(3, device="cpu")',
    ),
    Pair('x.to("cpu")', 'x.to("cpu")', 'x.to("cpu")'),
    Pair("x.to(torch.float32)", "x.to(torch.float32)", "x.to(torch.float32)"),
    Pair("x.new_zeros(3)", "x.new_zeros(3)", "x.new_zeros(3)"),
    Pair('x.to("cuda") for a clone', 'x.to("cuda")', "x.clone()", None),
    Pair("tdev.add(x, x)", "tdev.add(x, x)", "torch.add(x, x)", None),
]


def measure() -> list[Row]:
    results = children.run_module("benchmarks.bench_calls", TDEV_BACKEND="cpu", OMP_NUM_THREADS="1")
    return [
        Row(
            f"{pair.what} adds",
            result["added"],
            "ns",
            pair.limit,
            f"to {result['theirs']:.0f} ns of {pair.theirs}; middle half"
            f" {result['low']:.0f} to {result['high']:.0f} ns; {_TURNS} turns of {_CALLS} calls",
        )
        for pair, result in zip(PAIRS, results, strict=True)
    ]


def _time(pair: Pair, names: dict[str, object]) -> dict[str, float]:
    import tdev

    added, base = list[float](), list[float]()
    ours = timeit.Timer(pair.ours, timer=time.process_time, globals=names)
    theirs = timeit.Timer(pair.theirs, timer=time.process_time, globals=names)
    for turn in range(_TURNS + 1):
        tdev.shims.uninstall()
        torchs = theirs.timeit(_CALLS) / _CALLS * 1e9
        tdev.shims.install()
        tdevs = ours.timeit(_CALLS) / _CALLS * 1e9
        if turn:  # the first warms up
            added.append(tdevs - torchs)
            base.append(torchs)
    low, median, high = statistics.quantiles(added, n=4)
    return {"added": median, "low": low, "high": high, "theirs": statistics.median(base)}


if __name__ == "__main__":
    import tdev
    import torch

    everything = {"tdev": tdev, "torch": torch, "x": torch.zeros(3)}
    print(json.dumps([_time(pair, everything) for pair in PAIRS]))
