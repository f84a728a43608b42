"""``python -m tdev doctor --perf``: what in a program, or around it, costs time, with its line and what it was measured to cost.

What is read from the source is a suspicion; the run of a few steps (:mod:`tdev_core.measure.monitoring`) says what it costs.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdev_core.commands.saying import say

__all__ = ["Finding", "main", "static"]

USAGE = """\
usage: python -m tdev doctor --perf [--steps N] [SCRIPT [ARGS ...]]

What costs time: threads beyond what the process may use; and of a script, waits for the device in the loop of its steps, loaders
without workers, pinned memory that nothing needs, optimizers that go through their parameters one by one, float64 on mps. The
script is run for N steps (default 20, 0: not at all) as `tdev run` does, and what was suspected is measured.

Exit status: 0 nothing was found, 1 something was, 2 it could not be looked at.
"""
_WAITS = frozenset({"item", "cpu", "tolist", "numpy"})
_LIMIT = 600
"""Seconds that the steps may take."""


@dataclass(frozen=True)
class Finding:
    """Something that may cost time.

    Attributes:
        line: in the script; 0: in the script nowhere.
        what: what it is, and what to do.
        cost: what it was measured to cost; empty where it was not.
    """

    line: int
    what: str
    cost: str = ""


def main(argv: Sequence[str]) -> int:
    """Run the command, given what follows ``--perf``; return its exit status."""
    rest, steps = list(argv), "20"
    while rest and rest[0].startswith("-"):
        name, is_set, value = rest.pop(0).partition("=")
        if name in ("-h", "--help"):
            say(USAGE.rstrip())
            return 0
        if name != "--steps" or not (is_set or rest):
            return _refused(f"{name}: no such option, or without its value\n\n{USAGE.rstrip()}")
        steps = value if is_set else rest.pop(0)
    if not steps.isdecimal():
        return _refused(f"--steps {steps}: a whole number is needed")
    findings = list(_around())
    if rest:
        try:
            source = Path(rest[0]).read_bytes()
            findings += static(source, _backend())
        except OSError as error:
            return _refused(f"{rest[0]}: {error.strerror}")
        except (SyntaxError, ValueError) as error:
            return _refused(f"{rest[0]} is no Python: {error}")
        if int(steps):
            seen, why = _measured(rest, int(steps))
            if seen is None:
                return _refused(f"{rest[0]} could not be run: {why}")
            findings = _costs(rest[0], findings, seen)
    _tell(rest[0] if rest else "", findings)
    return 1 if findings else 0


def _refused(message: str) -> int:
    print(f"tdev doctor --perf: {message}", file=sys.stderr)
    return 2


def _backend() -> str:
    from tdev_core.backend import current

    return current().value


def _around() -> Iterator[Finding]:
    """Find what is wrong around any program."""
    import torch

    from tdev_core.measure.tuning.choices import quota

    threads, most = torch.get_num_threads(), quota()
    if threads > most:
        yield Finding(
            0,
            f"torch uses {threads} threads on {most} processors, which wait for each other: set OMP_NUM_THREADS={most}",
        )


# -- read from the source ----------------------------------------------------------------------------


def static(source: bytes, backend: str) -> list[Finding]:
    """Find what may cost time in the source of a script.

    Raises:
        SyntaxError: it is no Python.
    """
    tree = ast.parse(source)
    found = [*_in_loops(tree), *_made(tree, backend)]
    return sorted(set(found), key=lambda one: (one.line, one.what))


def _in_loops(tree: ast.AST) -> Iterator[Finding]:
    for loop in ast.walk(tree):
        if not isinstance(loop, (ast.For, ast.While)):
            continue
        calls = [node for node in ast.walk(loop) if isinstance(node, ast.Call)]
        if not any(_method(call) == "backward" for call in calls):
            continue
        seldom = {
            id(node)
            for test in ast.walk(loop)
            if isinstance(test, ast.If)
            for node in ast.walk(test)
        }
        for call in calls:
            name = _method(call)
            if id(call) in seldom:
                continue  # every hundredth step, as a rule
            if name in _WAITS and not call.args:
                yield Finding(
                    call.lineno,
                    f".{name}() in each step: the host waits for the device. Keep the tensor, and ask for numbers every so many steps",
                )
            elif isinstance(call.func, ast.Name) and call.func.id == "print" and call.args:
                yield Finding(
                    call.lineno,
                    "print in each step: of a tensor it waits for the device. Print every so many steps",
                )


def _made(tree: ast.AST, backend: str) -> Iterator[Finding]:
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and node.attr in ("float64", "double")
            and backend == "mps"
        ):
            yield Finding(
                node.lineno, f"{node.attr}: mps has no float64, which runs on the CPU or is refused"
            )
        if not isinstance(node, ast.Call):
            continue
        words = {word.arg: word.value for word in node.keywords}
        name = _method(node) or (node.func.id if isinstance(node.func, ast.Name) else "")
        if name == "DataLoader" and None not in words:
            workers = words.get("num_workers")
            if workers is None or (isinstance(workers, ast.Constant) and workers.value == 0):
                yield Finding(
                    node.lineno,
                    "a DataLoader without workers: batches are made between the steps. Set num_workers, and measure it",
                )
            pinned = words.get("pin_memory")
            if isinstance(pinned, ast.Constant) and pinned.value is True and backend != "cuda":
                yield Finding(
                    node.lineno,
                    f"pin_memory=True: {backend} gains nothing by it, and each batch is copied once more",
                )
        if (
            name in _OPTIMIZERS
            and not {"fused", "foreach", None} & set(words)
            and backend in ("cpu", "mps")
        ):
            yield Finding(
                node.lineno,
                f"{name} without fused: {backend} then takes parameters one by one. Set fused=True, and measure it",
            )


_OPTIMIZERS = frozenset({"Adam", "AdamW", "SGD", "Adagrad"})
"""Optimizers of torch that have a fused kernel for the CPU and MPS."""


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


# -- measured ----------------------------------------------------------------------------------------


def _measured(words: Sequence[str], steps: int) -> tuple[dict[str, Any] | None, str]:
    """Run some steps; return what a monitor has seen, or None and why there is nothing."""
    with tempfile.TemporaryDirectory(prefix="tdev-perf-") as folder:
        env = {
            **os.environ,
            "TDEV_REPORT": "json",
            "TDEV_REPORT_DIR": folder,
            "TDEV_REPORT_STEPS": str(steps),
        }
        command = [sys.executable, "-m", "tdev", "run", *words]
        try:
            done = subprocess.run(
                command,
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LIMIT,
            )
        except subprocess.TimeoutExpired:
            return None, f"{steps} steps take more than {_LIMIT} s"
        found = [
            json.loads(path.read_text(encoding="utf-8")) for path in Path(folder).glob("*.json")
        ]
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return None, f"status {done.returncode}: {lines[-1] if lines else ''}"
    seen = [one["watched"] for one in found if one["watched"] and one["watched"]["steps"]]
    if not seen:
        return None, "no optimizer has stepped in the process itself"
    best: dict[str, Any] = max(seen, key=lambda one: one["steps"])
    return best, ""


def _costs(script: str, findings: Sequence[Finding], seen: dict[str, Any]) -> list[Finding]:
    """Return the findings with what they were measured to cost, and those that only a run shows."""
    step = sum(seen["seconds"].values())
    spent: dict[int, tuple[float, str]] = {}
    more: list[Finding] = []
    for table, what in (
        ("waits", "the host waits for the device"),
        ("fallbacks", "runs on the CPU and comes back"),
    ):
        for where, one in seen[table].items():
            site, _, name = where.rpartition(" ")
            often = one["count"] / seen["steps"]
            cost = f"{often:.3g} × in a step, {1e3 * one['seconds'] / seen['steps']:.3g} ms of {1e3 * step:.3g} ms"
            path, _, line = site.rpartition(":")
            if path and line.isdecimal() and os.path.abspath(path) == os.path.abspath(script):
                spent[int(line)] = (one["seconds"], cost)
                if not any(known.line == int(line) for known in findings):
                    more.append(Finding(int(line), f"{name}: {what}", cost))
            elif one["count"] >= seen["steps"]:
                more.append(Finding(0, f"{where}: {what}", cost))
    for one in seen["breaks"]:
        path, _, line = one["site"].rpartition(":")
        here = os.path.abspath(path) == os.path.abspath(script)
        what = f"torch.compile leaves its graph here: {one['why']}"
        more.append(
            Finding(int(line), what, f"{one['count']} ×")
            if here
            else Finding(0, f"{one['site']}: {what}", f"{one['count']} ×")
        )
    if seen["compiled"]["count"] > 1:
        compiled = seen["compiled"]
        more.append(
            Finding(
                0,
                "more than one graph is compiled: graph breaks or recompilations (TORCH_LOGS=recompiles tells of the latter)",
                f"{compiled['count']} ×, {compiled['seconds']:.3g} s",
            )
        )
    known = [Finding(one.line, one.what, spent.get(one.line, (0.0, ""))[1]) for one in findings]
    return [*known, *more]


def _tell(script: str, findings: Sequence[Finding]) -> None:
    if not findings:
        say("nothing was found that costs time")
        return
    lines = []
    for one in findings:
        where = f"{script}:{one.line}  " if one.line else ""
        cost = f" [{one.cost}]" if one.cost else ""
        lines.append(f"{where}{one.what}{cost}")
    say("\n".join(lines))
