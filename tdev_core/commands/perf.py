"""``python -m tdev doctor --perf``: what in a program, or around it, costs time, with its line and what it was measured to cost.

What is read from the source is a suspicion; the run of a few steps (:mod:`tdev_core.measure.monitoring`) says what it costs.
"""

from __future__ import annotations

import ast
import json
import linecache
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tdev_core.commands.saying import say

__all__ = ["Finding", "main", "static"]

USAGE = """\
usage: python -m tdev doctor --perf [--steps N] [--library A,B] [SCRIPT [ARGS ...]]

What costs time: threads beyond what the process may use; and of a script, waits for the device in the loop of its steps, loaders
without workers, pinned memory that nothing needs, optimizers that go through their parameters one by one, float64 on mps. The
script is run for N steps (default 20, 0: not at all) as `tdev run` does, which --library is for, and what was suspected is measured.

Exit status: 0 nothing was found, 1 something was, 2 it could not be looked at.
"""
_WAITS = frozenset({"item", "cpu", "tolist", "numpy"})
_PRODUCTS = 9
_OF_RUN = ("--library", "--libraries", "--root")
"""Options that `tdev run` is given as they are."""
_OFTEN, _SHARE = 0.2, 0.02
"""Times in a step, and the share of a step's time, below which something is left unsaid."""
_LIMIT = 600
"""Seconds that the steps may take."""


@dataclass(frozen=True)
class Finding:
    """Something that may cost time.

    Attributes:
        line: in the script, or in ``path``; 0: nowhere.
        what: what it is, and what to do.
        cost: what it was measured to cost; empty where it was not.
        path: another file than the script.
    """

    line: int
    what: str
    cost: str = ""
    path: str = ""


def main(argv: Sequence[str]) -> int:
    """Run the command, given what follows ``--perf``; return its exit status."""
    rest, steps = list(argv), "20"
    of_run: list[str] = []
    while rest and rest[0].startswith("-"):
        name, is_set, value = rest.pop(0).partition("=")
        if name in ("-h", "--help"):
            say(USAGE.rstrip())
            return 0
        if name not in ("--steps", *_OF_RUN) or not (is_set or rest):
            return _refused(f"{name}: no such option, or without its value\n\n{USAGE.rstrip()}")
        value = value if is_set else rest.pop(0)
        if name in _OF_RUN:
            of_run += [name, value]
        else:
            steps = value
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
            seen, why = _measured([*of_run, *rest], int(steps))
            if seen is None:
                return _refused(f"{rest[0]} could not be run: {why}")
            findings = _costs(rest[0], findings, seen, _backend())
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
            0, f"{_crowded(threads, most)}: set OMP_NUM_THREADS={most}", _slower(threads, most)
        )


def _crowded(threads: int, most: int) -> str:
    return f"torch uses {threads} threads on {most} processors, which wait for each other"


def _slower(threads: int, most: int) -> str:
    """Say how much longer a product of matrices takes with so many threads than with as many as there are processors.

    Beside other programs it may take less: more threads are given more of the processors.
    """
    import torch

    one = torch.ones(512, 512)
    before = torch.get_num_threads()
    taken: dict[int, list[float]] = {threads: [], most: []}
    try:
        for _ in range(_PRODUCTS):
            for count, seconds in taken.items():
                torch.set_num_threads(count)
                one @ one  # the threads are started
                begun = time.perf_counter()
                one @ one
                seconds.append(time.perf_counter() - begun)
    finally:
        torch.set_num_threads(before)
    ratio = statistics.median(taken[threads]) / statistics.median(taken[most])
    if ratio <= 1 + _SHARE:
        return "a product of matrices takes no longer with them just now"
    return f"a product of matrices takes {ratio:.2g} × as long"


# -- read from the source ----------------------------------------------------------------------------


def static(source: bytes, backend: str) -> list[Finding]:
    """Find what may cost time in the source of a script.

    Raises:
        SyntaxError: it is no Python.
    """
    tree = ast.parse(source)
    found = [*(_in_loops(tree) if backend != "cpu" else ()), *_made(tree, backend)]
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
        if name == "DataLoader":
            workers = words.get("num_workers")
            if (workers is None and None not in words) or (
                isinstance(workers, ast.Constant) and workers.value == 0
            ):
                yield Finding(node.lineno, _ALONE)
            pinned = words.get("pin_memory")
            if isinstance(pinned, ast.Constant) and pinned.value is True and backend != "cuda":
                yield Finding(node.lineno, _pinned(backend))
        if (
            name in _OPTIMIZERS
            and not {"fused", "foreach", None} & set(words)
            and backend in _ONE_BY_ONE
        ):
            yield Finding(node.lineno, _unfused(name, backend))


_OPTIMIZERS = frozenset({"Adam", "AdamW", "SGD", "Adagrad"})
"""Optimizers of torch that have a fused kernel for the CPU and MPS."""
_ONE_BY_ONE = ("cpu", "mps")
"""Backends on which optimizers take parameters one by one unless they are asked for another way."""
_ALONE = "a DataLoader without workers: batches are made between the steps. Set num_workers, and measure it"


def _pinned(backend: str) -> str:
    return f"pin_memory=True: {backend} gains nothing by it, and each batch is copied once more"


def _unfused(name: str, backend: str) -> str:
    return f"{name} without fused: {backend} then takes parameters one by one. Set fused=True, and measure it"


def _method(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


# -- measured ----------------------------------------------------------------------------------------


def _measured(words: Sequence[str], steps: int) -> tuple[dict[str, Any] | None, str]:
    """Run some steps; return what a monitor has seen, or None and why there is nothing."""
    from tdev_core.measure.endings import reason

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
        return None, f"status {done.returncode}: {reason(done.stderr)}"
    seen = [one["watched"] for one in found if one["watched"] and one["watched"]["steps"]]
    if not seen:
        return None, "no optimizer has stepped in the process itself"
    best: dict[str, Any] = max(seen, key=lambda one: one["steps"])
    return best, ""


def _costs(
    script: str, suspected: Sequence[Finding], seen: dict[str, Any], backend: str
) -> list[Finding]:
    """Return what the run shows, with its cost, and what was suspected of lines that it tells nothing of."""
    found = [*_waits(script, seen), *_parts(script, seen, backend), *_compiled(script, seen)]
    for where, one in seen["fell"].items():
        site, _, name = where.rpartition(" ")
        if one["steps"] >= _OFTEN * seen["steps"]:
            what = f"{name}: runs on the CPU and comes back"
            found.append(_at(script, site, what, _spent(seen, one["count"], one["seconds"])))
    found += _threads(script, seen)
    # The run is what tells of waits, and of the loaders and optimizers that it has made.
    made = {_at(script, one["site"], "").line for one in seen["made"]}
    left = [one for one in suspected if not (one.what.startswith(_SEEN) or one.line in made - {0})]
    return [*left, *sorted(found, key=lambda one: (one.path, one.line))]


_SEEN = (*(f".{name}() in each step" for name in _WAITS), "print in each step")


def _spent(seen: dict[str, Any], count: float, seconds: float) -> str:
    step = _step(seen)
    often = f"{count / seen['steps']:.3g} × in a step, " if count else ""
    return f"{often}{1e3 * seconds / seen['steps']:.3g} ms of {1e3 * step:.3g} ms"


def _step(seen: dict[str, Any]) -> float:
    """Return the mean seconds of a step but the first, which begins with the program: what some steps alone do is in it, too."""
    steps = seen["timeline"][1:] or seen["timeline"]
    return statistics.fmean(sum(one["seconds"]) for one in steps)


def _at(script: str, site: str, what: str, cost: str = "") -> Finding:
    """Return a finding at ``file:line``."""
    path, _, line = site.rpartition(":")
    if not path or not line.isdecimal():
        return Finding(0, what, cost)
    mine = os.path.abspath(path) == os.path.abspath(script)
    beside = os.path.relpath(path)
    return Finding(
        int(line), what, cost, "" if mine else path if beside.startswith(os.pardir) else beside
    )


def _waits(script: str, seen: dict[str, Any]) -> Iterator[Finding]:
    """Find the lines at which the host waits, each once: what is printed is asked for by several methods."""
    lines: dict[str, tuple[list[str], float, float, int]] = {}
    host = [(where, one) for where, one in seen["copies"].items() if where.endswith(" to the host")]
    for where, one in (*seen["waits"].items(), *host):
        site, _, name = where.removesuffix(" to the host").rpartition(" ")
        if where.endswith(" to the host"):
            site, name = where.removesuffix(" to the host"), "a copy to the host"
        names, often, seconds, steps = lines.get(site, ([], 0.0, 0.0, 0))
        lines[site] = (
            [*names, name],
            max(often, one["count"]),
            seconds + one["seconds"],
            max(steps, one["steps"]),
        )
    for site, (names, often, seconds, steps) in lines.items():
        if steps < _OFTEN * seen["steps"]:
            continue  # every hundredth step, as a rule; or all at once, before or after the steps
        path, _, line = site.rpartition(":")
        printed = line.isdecimal() and "print(" in linecache.getline(path, int(line))
        what = "print" if printed else ", ".join(names)
        why = "the host waits for the device. Keep the tensor, and ask for numbers every so many steps"
        yield _at(script, site, f"{what}: {why}", _spent(seen, 0 if printed else often, seconds))


def _parts(script: str, seen: dict[str, Any], backend: str) -> Iterator[Finding]:
    """Find what loaders and optimizers cost, if it is worth a word."""
    step = _step(seen)
    for one in seen["made"]:
        site = one["site"]
        if one["kind"] == "loader":
            waited = seen["loads"].get(site, {"count": 0, "seconds": 0.0})["seconds"]
            if not one["workers"] and waited >= _SHARE * step * seen["steps"]:
                yield _at(script, site, _ALONE, _spent(seen, 0, waited))
            if one["pinned"] and backend != "cuda":
                yield _at(script, site, _pinned(backend))
        elif one["can_fuse"] and not one["chosen"] and backend in _ONE_BY_ONE:
            usual, seconds = sum(seen["seconds"].values()), seen["seconds"]["step"]
            if seconds >= _SHARE * usual:
                cost = f"{1e3 * seconds:.3g} ms of {1e3 * usual:.3g} ms are the optimizers'"
                yield _at(script, site, _unfused(one["name"], backend), cost)


def _compiled(script: str, seen: dict[str, Any]) -> Iterator[Finding]:
    elsewhere = 0
    for one in seen["breaks"]:
        if one["site"]:
            what = f"torch.compile leaves its graph here: {one['why']}"
            yield _at(script, one["site"], what, f"{one['count']} ×")
        else:
            elsewhere += one["count"]
    if elsewhere:
        yield Finding(0, "torch.compile leaves its graphs in libraries", f"{elsewhere} ×")
    for one in seen["recompiled"]:
        what = "torch.compile compiles this function again"
        what += f", since this no longer holds: {one['why']}" if one["why"] else ""
        yield _at(script, one["site"], what, f"{one['count']} ×, {one['seconds']:.3g} s")


def _threads(script: str, seen: dict[str, Any]) -> Iterator[Finding]:
    """Find threads that the program has asked for itself."""
    import torch

    from tdev_core.measure.tuning.choices import quota

    threads, most = seen["threads"], quota()
    if threads > max(most, torch.get_num_threads()):  # else it is known of any program here
        lines = [
            node.lineno
            for node in ast.walk(ast.parse(Path(script).read_bytes()))
            if isinstance(node, ast.Call) and _method(node) == "set_num_threads"
        ]
        what = f"{_crowded(threads, most)}. Ask for no more than {most}"
        yield Finding(lines[-1] if lines else 0, what, _slower(threads, most))


def _tell(script: str, findings: Sequence[Finding]) -> None:
    if not findings:
        say("nothing was found that costs time")
        return
    lines = []
    for one in findings:
        where = f"{one.path or script}:{one.line}  " if one.line else ""
        cost = f" [{one.cost}]" if one.cost else ""
        lines.append(f"{where}{one.what}{cost}")
    say("\n".join(lines))
