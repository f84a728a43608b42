"""``python -m tdev plan``: what one rank of a parallel program needs of memory and network, without the other ranks."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tdev_core.commands.saying import say
from tdev_core.metrics.units import size

if TYPE_CHECKING:
    from tdev_core.measure.planning.planner import Plan

USAGE = "python -m tdev plan --world N [OPTIONS] SCRIPT [ARGS …]  |  … -m MODULE [ARGS …]"
_ABOUT = """\
Runs one rank of a program as `tdev run` does, on simulated devices whose tensors are shapes without numbers, for a few steps of
its optimizers. No other process is started and no memory of the device's size is taken: any number of ranks can be asked about.
What the program reads from the device is 0."""


def main(argv: Sequence[str]) -> int:
    """Run the command; return its exit status: 0 planned, 2 it could not be."""
    parser = argparse.ArgumentParser(prog="tdev plan", usage=USAGE, description=_ABOUT)
    parser.add_argument("--world", type=_above_zero, required=True, metavar="N", help="ranks")
    parser.add_argument("--rank", type=int, default=0, help="the one to run (default 0)")
    parser.add_argument(
        "--per-node", type=_above_zero, default=8, metavar="N", help="ranks on a node (default 8)"
    )
    parser.add_argument(
        "--steps",
        type=_above_zero,
        default=2,
        metavar="N",
        help="steps of an optimizer (default 2)",
    )
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON, in bytes")
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    if not argv:
        say(parser.format_help().rstrip())
        return 2
    given = parser.parse_args(argv)
    words = given.program[1:] if given.program[:1] == ["--"] else given.program
    words = words[1:] if words[:1] in (["python"], ["python3"]) else words
    if not words:
        parser.error("no script and no module given")
    if words[0] != "-m" and not Path(words[0]).is_file():
        parser.error(f"{words[0]}: no such file")
    if not 0 <= given.rank < given.world:
        parser.error(f"--rank {given.rank}: there are the ranks 0 to {given.world - 1}")
    plan = _planned(given, words)
    if plan is None:
        return 2
    if given.json:
        from json import dumps

        say(
            dumps(
                {"schema": 1, "peak_bytes": plan.peak_bytes, "sent": plan.sent, **asdict(plan)},
                indent=2,
            )
        )
    else:
        say(table(plan))
    return 0


def _above_zero(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0")
    return value


def _planned(given: argparse.Namespace, words: Sequence[str]) -> Plan | None:
    """Run the rank; return its plan, or None where the program failed, which has said why."""
    from tdev_core.measure.planning.planner import VARIABLE, Plan, Task
    from tdev_core.measure.planning.world import variables

    with tempfile.TemporaryDirectory(prefix="tdev-plan-") as scratch:
        answer = Path(scratch) / "plan.json"
        task = Task(given.world, given.rank, given.per_node, given.steps, str(answer))
        env = {
            **os.environ,
            **variables(given.world, given.rank, given.per_node),
            "TDEV_BACKEND": "sim",
            "TDEV_SIM_DEVICES": str(min(given.world, given.per_node)),
            VARIABLE: task.text(),
        }
        # What the program prints is its own affair, and no part of the answer.
        status = subprocess.run(
            [sys.executable, "-m", "tdev", "run", *words], env=env, stdout=sys.stderr, check=False
        ).returncode
        if status or not answer.is_file():
            print(
                f"tdev plan: the program ended with status {status} before its plan was known",
                file=sys.stderr,
            )
            return None
        return Plan.read(answer.read_text(encoding="utf-8"))


def table(plan: Plan) -> str:
    """Return a plan as a person reads it."""
    steps = f"{plan.steps} {'step' if plan.steps == 1 else 'steps'} of its optimizer"
    lines = [
        f"rank {plan.rank} of {plan.world:,}, {steps}; no number was computed",
        f"memory   {size(plan.peak_bytes)} at most, in {plan.peak_site or 'a backward pass'}",
        *(f"  {kind:<12} {size(count):>10}" for kind, count in plan.peak.items() if count),
        f"         {size(sum(plan.held.values()))} between steps",
        f"network  {size(plan.sent)} sent in a step"
        + ("" if plan.collectives else ": no collective"),
    ]
    lines += [
        f"  {one.count:>5} × {one.kind:<14} {size(one.bytes):>10}, {size(one.sent):>10} sent, among {one.size:,} ranks"
        f" ({one.group}) on {one.nodes:,} {'node' if one.nodes == 1 else 'nodes'}"
        for one in plan.collectives
    ]
    return "\n".join(lines)
