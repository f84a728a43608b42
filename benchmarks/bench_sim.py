"""A training step of a small GPT, and one ``add``, on device ``sim`` against plain CPU: by native kernels, and by Python alone.

Both sides live in one process and step by turns, on one thread, in processor time. The losses have to be the same to the
last bit. The native kernels are built first where they have not been.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import children
from benchmarks.bench_step import _BATCH, _LENGTH, _VOCABULARY, Trainer
from benchmarks.rows import Row, ratio_of_medians, spread
from tdev_core.accelerators.privateuse.native import Library

_STEPS = {32: 60, 128: 40}
_WARM_UP = 4
_ROUNDS, _CALLS = 41, 2000
_NATIVE = {32: 1.3, 128: 1.08, "add": 1.5}
_PYTHON = {32: 2.5, 128: 1.25, "add": None}


def measure() -> list[Row]:
    """Measure both ways, each in a process of its own."""
    library = Library("sim").build()
    return [
        *_rows("native kernels", _NATIVE, TDEV_CACHE_DIR=str(library.parent.parent)),
        *_rows("Python alone", _PYTHON, TDEV_NATIVE="0"),
    ]


def _rows(how: str, budget: dict[Any, Any], **settings: str) -> list[Row]:
    found = children.run_module(
        "benchmarks.bench_sim", TDEV_BACKEND="sim", OMP_NUM_THREADS="1", **settings
    )
    rows = []
    for width, steps in _STEPS.items():
        ours, theirs = found[str(width)]
        rows.append(
            Row(
                f"GPT step of width {width}, sim / cpu, {how}",
                ratio_of_medians(ours, theirs),
                "x",
                budget[width],
                f"{1e3 * statistics.median(ours):.1f} ms and {1e3 * statistics.median(theirs):.1f} ms, middle half "
                f"of the ratio {spread([a / b for a, b in zip(ours, theirs, strict=True)])}; {steps} steps each, by turns",
            )
        )
    ours, theirs = ([1e6 * one for one in side] for side in found["add"])
    more = [a - b for a, b in zip(ours, theirs, strict=True)]
    rows.append(
        Row(
            f"torch.add(x, x) on sim adds, {how}",
            statistics.median(more),
            "us",
            budget["add"],
            f"to {statistics.median(theirs):.2f} us; middle half {spread(more)}; {_ROUNDS} turns of {_CALLS} calls",
        )
    )
    return rows


def _steps(width: int, ids: Any) -> tuple[list[float], list[float]]:
    import torch

    sides = {"sim": Trainer(torch, "sim", width), "cpu": Trainer(torch, "cpu", width)}
    seconds: dict[str, list[float]] = {"sim": [], "cpu": []}
    losses = dict[str, float]()
    for step in range(_WARM_UP + _STEPS[width]):
        for who in ("sim", "cpu") if step % 2 else ("cpu", "sim"):
            start = time.process_time()
            losses[who] = sides[who].step(ids)
            seconds[who].append(time.process_time() - start)
        if losses["sim"] != losses["cpu"]:
            raise RuntimeError(f"step {step}: {losses['sim']}, not {losses['cpu']}")
    return seconds["sim"][_WARM_UP:], seconds["cpu"][_WARM_UP:]


def _adds() -> tuple[list[float], list[float]]:
    import torch

    here, there = torch.ones(4, device="sim"), torch.ones(4)

    def turn(add: Callable[[Any, Any], Any], x: Any) -> float:
        start = time.process_time()
        for _ in range(_CALLS):
            add(x, x)
        return (time.process_time() - start) / _CALLS

    turns = [(turn(torch.add, here), turn(torch.add, there)) for _ in range(_ROUNDS)]
    return [one for one, _ in turns], [other for _, other in turns]


def _both() -> dict[str, Any]:
    import tdev
    import torch

    tdev.shims.uninstall()
    ids = torch.randint(_VOCABULARY, (_BATCH, _LENGTH))
    found: dict[str, Any] = {str(width): _steps(width, ids) for width in _STEPS}
    return {**found, "add": _adds()}


if __name__ == "__main__":
    json.dump(_both(), sys.stdout)
