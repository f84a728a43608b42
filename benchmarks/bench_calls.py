"""Measure what a wrapped function and a shimmed method add to the call that they make, in nanoseconds.

Everything runs in one process and by turns, a few thousand calls at a time: each turn measures every
expression once, so that a slow minute falls on all of them. For methods the shims are taken off for
torch's half of the turn: then the very same expression is torch's own. What is counted is processor
time, which other programs on the machine inflate less than the clock's.

Each turn also measures what the least possible wrapper adds, a Python function of one parameter that
hands it on. The budget is in nanoseconds; the ratio to that wrapper tells slow code from a slow machine.
"""

from __future__ import annotations

import json
import statistics
import time
import timeit
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

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
    Pair('x.to("cuda")', 'x.to("cuda")', 'x.to("cpu", copy=True)'),
    Pair("x.cuda()", "x.cuda()", 'x.to("cpu", copy=True)'),
    Pair("tdev.add(x, x)", "tdev.add(x, x)", "torch.add(x, x)", None),
]


def measure() -> list[Row]:
    rows = _rows()
    if "calls in C" in rows[0].detail:
        # What is missing where tdev was installed without a C compiler.
        rows += [replace(row, limit=None) for row in _rows(TDEV_C_CALLS="0") if row.limit]
    return rows


def _rows(**environment: str) -> list[Row]:
    found = children.run_module(
        "benchmarks.bench_calls", TDEV_BACKEND="cpu", OMP_NUM_THREADS="1", **environment
    )
    floor = found["floor"]
    where = "" if found["calls"] == "C" else ", by Python alone,"
    return [
        Row(
            f"{pair.what}{where} adds",
            result["added"],
            "ns",
            pair.limit,
            f"{result['added'] / floor:.1f} × the {floor:.0f} ns that a bare Python wrapper adds;"
            f" to {result['theirs']:.0f} ns of {pair.theirs}; middle half"
            f" {result['low']:.0f} to {result['high']:.0f} ns; {_TURNS} turns of {_CALLS} calls;"
            f" calls in {found['calls']}",
        )
        for pair, result in zip(PAIRS, found["pairs"], strict=True)
    ]


def _measured() -> dict[str, Any]:
    import tdev
    import torch

    from tdev_core.shims import calls

    x = torch.zeros(3)
    names: dict[str, object] = {"tdev": tdev, "torch": torch, "x": x}
    names |= {"dim": torch.Tensor.dim, "bare": _bare(torch.Tensor.dim)}
    ours = [_timer(text, names) for text in (*(pair.ours for pair in PAIRS), "bare(x)")]
    theirs = [_timer(text, names) for text in (*(pair.theirs for pair in PAIRS), "dim(x)")]
    added: list[list[float]] = [[] for _ in ours]
    base: list[list[float]] = [[] for _ in ours]
    for turn in range(_TURNS + 1):
        tdev.shims.uninstall()
        torchs = [timer() for timer in theirs]
        tdev.shims.install()
        tdevs = [timer() for timer in ours]
        if not turn:
            continue  # the first warms up
        for number, (with_torch, with_tdev) in enumerate(zip(torchs, tdevs, strict=True)):
            added[number].append(with_tdev - with_torch)
            base[number].append(with_torch)
    pairs = []
    for more, torchs in zip(added[:-1], base[:-1], strict=True):
        low, median, high = statistics.quantiles(more, n=4)
        pairs.append(
            {"added": median, "low": low, "high": high, "theirs": statistics.median(torchs)}
        )
    return {"pairs": pairs, "floor": statistics.median(added[-1]), "calls": calls.state()}


def _bare(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def bare(first: Any) -> Any:
        return function(first)

    return bare


def _timer(text: str, names: dict[str, object]) -> Callable[[], float]:
    """Measures nanoseconds of processor time for one call."""
    timer = timeit.Timer(text, timer=time.process_time, globals=names)
    return lambda: timer.timeit(_CALLS) / _CALLS * 1e9


if __name__ == "__main__":
    print(json.dumps(_measured()))
