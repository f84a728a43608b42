"""``python -m tdev diff``: names the first operator that computes something else on another backend, or another way."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tdev_core.commands.saying import say
from tdev_core.errors import ConfigError

if TYPE_CHECKING:
    from tdev_core.measure.diffing import Request

USAGE = """\
usage: python -m tdev diff [OPTIONS] SCRIPT [ARGS ...]
       python -m tdev diff [OPTIONS] -m MODULE [ARGS ...]

Runs a program twice, as `tdev run` does, with the same seeds and the same random numbers, and names the first operator
and line whose result differs beyond rounding; then the worst ones.

  --on A,B          on two backends, the reference first (default: cpu and what is here: mlx, mps, cuda or sim)
  --on A            on one, with one of these (default: what is active):
  --compiled        what torch.compile makes of the program, against its graphs run by eager's kernels
  --autocast DTYPE  models inside of autocast to bfloat16 or float16, against the program as it is; of two backends the second
  --fallbacks       operators that the CPU computes, against the device's own kernels; of two backends the second
  --steps N         end the program after N steps of its optimizers
  --tolerance X     relative error that results may have (default: by type, 1e-3 for float32)
  --save DIR        keep the reference's recording there
  --against DIR     compare with a recording that was saved, of another machine for instance; --on names one backend

Without --compiled, what torch.compile compiles runs uncompiled.
Exit status: 0 the results agree, 1 they differ, 2 a run failed.
"""
_VALUES = ("--on", "--autocast", "--steps", "--tolerance", "--save", "--against")
_FLAGS = ("--compiled", "--fallbacks")


def main(argv: Sequence[str]) -> int:
    """Run the command; return its exit status."""
    if not argv or argv[0] in ("-h", "--help"):
        say(USAGE.rstrip())
        return 0 if argv else 2
    try:
        request = _parse(argv)
        from tdev_core.measure.diffing import run

        found = run(request)
    except ConfigError as error:
        print(f"tdev diff: {error}", file=sys.stderr)
        return 2
    say(str(found))
    return 0 if found.agree else 1


def _parse(argv: Sequence[str]) -> Request:
    from tdev_core.measure.diffing import Request, Sides

    rest = list(argv)
    options: dict[str, str] = {}
    while rest and rest[0].startswith("--"):
        name, is_set, value = rest.pop(0).partition("=")
        if name == "--":
            break
        if name not in (*_VALUES, *_FLAGS) or (is_set and name in _FLAGS):
            raise ConfigError(f"unknown option {name}{is_set}{value}\n\n{USAGE.rstrip()}")
        if not is_set and name in _VALUES:
            if not rest:
                raise ConfigError(f"{name} needs a value")
            value = rest.pop(0)
        options[name] = value
    if not rest:
        raise ConfigError("no script and no module given")
    against = Path(options["--against"]) if "--against" in options else None
    if against is not None and not against.is_dir():
        raise ConfigError(f"--against {against}: no such directory")
    another_way = any(name in options for name in (*_FLAGS, "--autocast"))
    most = 1 if against else 2
    names = _backends(options.get("--on", ""), most if not another_way else 1, most)
    sides = Sides(
        "" if against else names[0],
        names[-1],
        "--compiled" in options,
        options.get("--autocast", ""),
        "--fallbacks" in options,
    )
    try:
        steps, tolerance = int(options.get("--steps", "0")), options.get("--tolerance")
        limit = float(tolerance) if tolerance is not None else None
        if steps < 0 or (limit is not None and not 0 <= limit < math.inf):
            raise ValueError
    except ValueError:
        raise ConfigError(
            "--steps needs a whole number, and --tolerance a number, none below 0"
        ) from None
    save = Path(options["--save"]) if "--save" in options else None
    return Request(tuple(rest), sides, steps, limit, save, against)


def _backends(given: str, least: int, most: int) -> list[str]:
    """Return the backends that ``--on`` names, of which there are to be so many; default: as many as there have to be."""
    names = [name.strip() for name in given.split(",")] if given else _found()[-least:]
    if not least <= len(names) <= most:
        raise ConfigError(
            f"--on {given}: {len(names)} backends given, {least if len(names) < least else most} needed"
        )
    return names


def _found() -> list[str]:
    """Return the CPU, and the accelerator that is here: a simulated one at least."""
    from importlib.util import find_spec

    from tdev_core.backend import current

    active = current().value
    if active == "cpu":
        active = "mlx" if find_spec("mlx") else "sim"
    return ["cpu", active]
