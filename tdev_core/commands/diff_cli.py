"""``python -m tdev diff``: names the first operator that computes something else on another backend."""

from __future__ import annotations

import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tdev_core.backend import Backend
from tdev_core.commands.saying import say

USAGE = """\
usage: python -m tdev diff [OPTIONS] SCRIPT [ARGS ...]
       python -m tdev diff [OPTIONS] -m MODULE [ARGS ...]

Runs a program on two backends, as `tdev run` does, with the same seeds and the same random numbers, and names the first
operator and line whose result differs beyond rounding; then the worst ones. What torch.compile compiles runs uncompiled.

  --on A,B          the backends, the reference first (default: cpu and what is here: mlx, mps, cuda or sim)
  --steps N         end the program after N steps of its optimizers
  --tolerance X     relative error that results may have (default: by type, 1e-3 for float32)
  --save DIR        keep the reference's recording there
  --against DIR     compare with a recording that was saved, of another machine for instance; --on names one backend

Exit status: 0 the results agree, 1 they differ, 2 a run failed.
"""
_WORST = 8


class Refused(Exception):
    """What was asked for cannot be done; the message says why."""


@dataclass(frozen=True)
class Request:
    """What the command line asks for; an empty ``reference`` is the recording ``against``."""

    program: tuple[str, ...]
    reference: str
    other: str
    steps: int = 0
    tolerance: float | None = None
    save: Path | None = None
    against: Path | None = None


def main(argv: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    if not argv or argv[0] in ("-h", "--help"):
        say(USAGE.rstrip())
        return 0 if argv else 2
    scratch = Path(tempfile.mkdtemp(prefix="tdev-diff-"))
    try:
        return _differ(_parse(argv), scratch)
    except Refused as error:
        print(f"tdev diff: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tdev diff: stopped", file=sys.stderr)
        return 130
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _parse(argv: Sequence[str]) -> Request:
    rest = list(argv)
    options: dict[str, str] = {}
    while rest and rest[0].startswith("--"):
        name, is_set, value = rest.pop(0).partition("=")
        if name == "--":
            break
        if name not in ("--on", "--steps", "--tolerance", "--save", "--against"):
            raise Refused(f"unknown option {name}\n\n{USAGE.rstrip()}")
        if not is_set:
            if not rest:
                raise Refused(f"{name} needs a value")
            value = rest.pop(0)
        options[name] = value
    if not rest:
        raise Refused("no script and no module given")
    against = Path(options["--against"]) if "--against" in options else None
    if against is not None and not against.is_dir():
        raise Refused(f"--against {against}: no such directory")
    backends = _backends(options.get("--on", ""), 1 if against else 2)
    try:
        steps, tolerance = int(options.get("--steps", "0")), options.get("--tolerance")
        limit = float(tolerance) if tolerance is not None else None
        if steps < 0 or (limit is not None and not 0 <= limit < math.inf):
            raise ValueError
    except ValueError:
        raise Refused(
            "--steps needs a whole number, and --tolerance a number, none below 0"
        ) from None
    save = Path(options["--save"]) if "--save" in options else None
    return Request(
        tuple(rest), backends[0] if not against else "", backends[-1], steps, limit, save, against
    )


def _backends(given: str, count: int) -> list[str]:
    known = [one.value for one in Backend]
    names = [name.strip() for name in given.split(",")] if given else _found()[-count:]
    wrong = [name for name in names if name not in known]
    if wrong or len(names) != count:
        what = (
            f"{', '.join(wrong)}: no backend"
            if wrong
            else f"{len(names)} backends given, {count} needed"
        )
        raise Refused(f"--on {given}: {what}. There are {', '.join(known)}")
    return names


def _found() -> list[str]:
    """Return the CPU, and the accelerator that is here: a simulated one at least."""
    from importlib.util import find_spec

    from tdev_core.backend import current

    active = current().value
    if active == "cpu":
        active = "mlx" if find_spec("mlx") else "sim"
    return ["cpu", active]


def _differ(request: Request, scratch: Path) -> int:
    from tdev_core.measure.comparing import compare, read
    from tdev_core.measure.recording import Wish

    mine = Wish(str(request.against or scratch / "reference"), steps=request.steps)
    other = Wish(str(scratch / "other"), reference=mine.folder, steps=request.steps)
    if request.against is None:
        _run(request, request.reference, mine)
    _run(request, request.other, other)
    try:
        sides = [read(Path(wish.folder)) for wish in (mine, other)]
    except ValueError as error:
        raise Refused(str(error)) from None
    found = compare(sides[0], sides[1], request.tolerance)
    if not found.differences:
        raise Refused("the two runs have no operator in common")
    if request.save is not None:
        shutil.copytree(mine.folder, request.save, dirs_exist_ok=True)
    names = (request.reference or str(request.against), request.other)
    _head(names, found)
    first = found.first
    if first is None:
        return 0
    worst = [one for one in found.worst(_WORST) if one.error]
    values = _values(request, mine, other, [first, *worst])
    _tell(first, names, values)
    _table(worst, values)
    return 1


def _run(request: Request, backend: str, wish: Any) -> None:
    """Run the program on a backend, and have it recorded.

    Raises:
        Refused: it failed; the message has the end of what it said.
    """
    from tdev_core.measure.recording import VARIABLE

    os.makedirs(wish.folder, exist_ok=True)
    again = ", once more for the values" if wish.whole else ""
    print(f"tdev diff: running on {backend}{again} …", file=sys.stderr, flush=True)
    env = {
        **os.environ,
        "TDEV_BACKEND": backend,
        "TORCH_COMPILE_DISABLE": "1",  # a compiled graph is one operator to whoever watches
        "PYTHONHASHSEED": "0",
        VARIABLE: wish.text(),
    }
    with tempfile.TemporaryFile() as said:
        command = [sys.executable, "-m", "tdev", "run", *request.program]
        with subprocess.Popen(command, env=env, stdout=said, stderr=subprocess.STDOUT) as program:
            try:
                status = program.wait()
            except KeyboardInterrupt:  # the program has had it, too
                program.send_signal(signal.SIGTERM)
                raise
        if status:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()[-20:]
            end = "\n".join(f"  {line}" for line in lines)
            raise Refused(f"the program ended with status {status} on {backend}:\n{end}")


def _values(request: Request, mine: Any, other: Any, asked: Sequence[Any]) -> dict[str, Any]:
    """Run both once more; return what is said of the values of the operators in question, by their marks."""
    from tdev_core.measure.values import judged

    if request.against is not None:
        return {}  # what ran there cannot run here
    marks = tuple(dict.fromkeys(map(_mark, asked)))
    _run(request, request.reference, replace(mine, whole=marks))
    _run(request, request.other, replace(other, whole=marks))
    found = ((one, judged(Path(mine.folder), Path(other.folder), one)) for one in marks)
    return {one: value for one, value in found if value is not None}


def _mark(one: Any) -> str:
    from tdev_core.measure.recording import mark

    return mark(one.process, one.key)


def _head(names: tuple[str, str], found: Any) -> None:
    count = len(found.differences)
    mine, theirs = found.alone
    say(
        f"{names[0]} against {names[1]}: {count:,} results compared, {mine:,} and {theirs:,} are of one side only"
    )
    if found.first is None:
        (worst,) = found.worst(1)
        say(f"They agree. The largest relative error is {worst.error:.1e}: {_where(worst)}")


def _where(one: Any) -> str:
    place, operator, _ = one.key
    what = place.function if not operator else f"{operator} of {place.function or 'no call'}"
    parts = [f"{what} in {place.site}" if place.site else what, place.module]
    parts += [f"step {place.step + 1}", place.phase]
    parts.append("" if one.process == "main-rank0" else one.process)
    return ", ".join(filter(None, parts))


def _tell(first: Any, names: tuple[str, str], values: dict[str, Any]) -> None:
    say(f"\nThe first difference: {_where(first)}")
    if first.names[0] != first.names[1]:
        say(f"  it is {first.names[0]} on {names[0]}, {first.names[1]} on {names[1]}")
    if first.what:
        say(f"  {first.what}")
    else:
        say(
            f"  relative error {first.error:.1e}, where {first.tolerance:.0e} is rounding; "
            f"what went in agrees to {first.given:.1e}"
        )
    known = values.get(_mark(first))
    if known is not None:
        say(
            f"  the worst element {list(known.index)}: {known.mine!r} and {known.other!r}, {known.ulp:,.0f} ULP apart"
        )
        if known.again is not None:
            say(
                f"  of what went in on {names[0]}, {names[1]} makes {known.again:.1e} of relative error"
            )


def _table(worst: Sequence[Any], values: dict[str, Any]) -> None:
    say("\nThe worst, each place once:\n   error  tolerance          ULP  operator")
    for one in worst:
        known = values.get(_mark(one))
        ulp = f"{known.ulp:12,.0f}" if known is not None else " " * 12
        say(f"{one.error:8.1e}  {one.tolerance:9.0e} {ulp}  {_where(one)}")
