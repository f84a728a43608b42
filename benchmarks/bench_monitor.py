"""A training step of a small GPT with a monitor and without: in one process, in blocks by turns, in processor time on one thread."""

from __future__ import annotations

import json
import statistics
import time

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
    return rows


def _alternate() -> dict[str, list[float]]:
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
