"""A training step of a small GPT with a monitor and without, in blocks by turns, in processor time on one thread.

A monitor is put on and taken off in one process. ``TDEV_REPORT`` is a process's from its start on: there two of them take turns.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from benchmarks import children
from benchmarks.bench_step import _BATCH, _LENGTH, _VOCABULARY, Trainer
from benchmarks.rows import Row, spread

_BLOCKS = 30
_STEPS = 8
"""Of a block, and one more that is not counted: starting a monitor replaces methods, after which Python looks each up anew."""


def measure() -> list[Row]:
    rows = []
    for backend in ("cpu", "sim", "mlx"):
        seconds = children.run_module(
            "benchmarks.bench_monitor",
            TDEV_BACKEND=backend,
            OMP_NUM_THREADS="1",
            TDEV_NATIVE_BUILD="0",
        )
        # Neighbours are paired: on a machine that others use, medians of two series drift apart.
        ratios = [on / off for on, off in zip(seconds["on"], seconds["off"], strict=True)]
        rows.append(
            Row(
                f"training step on {backend}, monitored / not",
                statistics.median(ratios), "x", 1.03,
                f"{1e3 * statistics.median(seconds['off']):.1f} ms without, middle half of the ratio {spread(ratios)}; {_BLOCKS} pairs of {_STEPS} steps",
            )
        )  # fmt: skip
    return [*rows, *(_reported(word) for word in ("1", "json"))]


def _reported(word: str) -> Row:
    """Let a process with ``TDEV_REPORT`` and one without take turns; twice each, for what two processes differ by themselves."""
    code = "from benchmarks.bench_monitor import _take_turns; _take_turns()"
    with tempfile.TemporaryDirectory() as folder:
        shared = {"TDEV_BACKEND": "cpu", "OMP_NUM_THREADS": "1"}
        on = {"TDEV_REPORT": word, "TDEV_REPORT_DIR": folder}
        children_ = [
            subprocess.Popen(
                [sys.executable, "-c", code],
                env=children.environment(**shared, **more),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for more in ({}, on, on, {})
        ]
        seconds: list[list[float]] = [[] for _ in children_]
        for number in range(_BLOCKS):
            order = list(enumerate(children_))
            for at, child in order if number % 2 else order[::-1]:
                assert child.stdin is not None and child.stdout is not None
                child.stdin.write("\n")
                child.stdin.flush()
                seconds[at].append(float(child.stdout.readline()))
        for child in children_:
            child.communicate()
    off, one, other, without = seconds
    ratios = [(b + c) / (a + d) for a, b, c, d in zip(off, one, other, without, strict=True)]
    apart = [d / a for a, d in zip(off, without, strict=True)]
    return Row(
        f"training step on cpu, TDEV_REPORT={word} / without",
        statistics.median(ratios), "x", 1.03,
        f"{1e3 * statistics.median(off):.1f} ms without, middle half of the ratio {spread(ratios)}; two processes without"
        f" differ by {statistics.median(apart):.3f} ×; {_BLOCKS} turns of {_STEPS} steps",
    )  # fmt: skip


def _blocks() -> Callable[[], float]:
    """Return what takes a block of steps, and gives the median seconds of one."""
    import tdev
    import torch

    trainer = Trainer(tdev, "cuda")
    ids = torch.randint(_VOCABULARY, (_BATCH // 4, _LENGTH))

    def block() -> float:
        trainer.step(ids)
        each = []
        for _ in range(_STEPS):
            start = time.process_time()
            trainer.step(ids)
            each.append(time.process_time() - start)
        return statistics.median(each)

    block()  # to warm up
    return block


def _take_turns() -> None:
    """Take a block of steps for each line that is read."""
    block = _blocks()
    for _ in sys.stdin:
        print(block(), flush=True)


def _alternate() -> dict[str, list[float]]:
    import tdev

    block = _blocks()
    seconds: dict[str, list[float]] = {"on": [], "off": []}
    for number in range(_BLOCKS):
        for who in ("on", "off") if number % 2 else ("off", "on"):
            if who == "off":
                seconds[who].append(block())
            else:
                with tdev.monitoring.Monitor():
                    seconds[who].append(block())
    return seconds


if __name__ == "__main__":
    print(json.dumps(_alternate()))
