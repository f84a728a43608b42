"""Runs a program twice, in processes of its own, and says which operator was the first to give something else.

Both runs are of one program: on two backends, or on one backend computed two ways. The second run takes the first one's random
numbers; where something differs, both run once more for the values of the operators in question.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tdev_core.backend import Backend, current
from tdev_core.errors import ConfigError
from tdev_core.measure.comparing import Comparison, Difference, compare, read
from tdev_core.measure.endings import ending
from tdev_core.measure.values import Judged, judged
from tdev_core.measure.wish import VARIABLE, Wish, mark

__all__ = ["Found", "Request", "Sides", "diff", "run"]

_WORST = 8
_PATIENCE = 5.0
"""Seconds that a program has to end in, where the command is stopped."""
_DTYPES = ("bfloat16", "float16")


@dataclass(frozen=True)
class Sides:
    """The two sides of a comparison: two backends, or two ways on one; the reference comes first.

    Attributes:
        reference: the backend of the reference; empty where a recording of it is there.
        other: the backend of the other run.
        compiled: whether the graphs that ``torch.compile`` makes run compiled in the other run, and by eager's kernels in the reference.
        autocast: the type in which the other run calls models inside of a region of autocast.
        fallbacks: whether the CPU computes the operators of the other run.
    """

    reference: str
    other: str
    compiled: bool = False
    autocast: str = ""
    fallbacks: bool = False

    def __post_init__(self) -> None:
        known = [one.value for one in Backend]
        wrong = [name for name in (self.reference, self.other) if name and name not in known]
        if wrong:
            raise ConfigError(f"{wrong[0]}: no backend. There are {', '.join(known)}")
        if self.autocast and self.autocast not in _DTYPES:
            raise ConfigError(f"autocast {self.autocast}: there are {' and '.join(_DTYPES)}")
        if self.compiled and (self.autocast or self.fallbacks):
            raise ConfigError(
                "compiled graphs are compared with themselves run by eager's kernels, and nothing else is changed"
            )
        if self.compiled and self.reference not in ("", self.other):
            raise ConfigError(
                "each backend makes graphs of its own: compiled ones are compared on one backend"
            )
        if self.compiled and self.other == "sim":
            raise ConfigError("sim has no compiler")
        if self.fallbacks and self.other == "cpu":
            raise ConfigError("the CPU computes everything on cpu: there is nothing to fall back")
        if self.reference == self.other and not (self.compiled or self.autocast or self.fallbacks):
            raise ConfigError(f"{self.other} twice is one run")

    @property
    def names(self) -> tuple[str, str]:
        """The name of each side in an answer."""
        other = self.other
        if self.compiled:
            return f"{self.reference or 'the recording'} eager", f"{other} compiled"
        other += f" with autocast to {self.autocast}" if self.autocast else ""
        other += " with everything falling back" if self.fallbacks else ""
        return self.reference or "the recording", other


@dataclass(frozen=True)
class Request:
    """A request to run and to compare.

    Attributes:
        program: what follows ``python -m tdev run``.
        sides: where and how.
        steps: after how many steps of optimizers the program ends; 0: at its own end.
        tolerance: relative error that results may have; None: by type.
        save: where to keep the reference's recording.
        against: a recording that is the reference.
    """

    program: tuple[str, ...]
    sides: Sides
    steps: int = 0
    tolerance: float | None = None
    save: Path | None = None
    against: Path | None = None


@dataclass(frozen=True)
class Found:
    """The outcome of comparing two runs: what they have in common and where they differ; ``str`` of it is what the command prints.

    Attributes:
        sides: what was compared.
        comparison: all operators.
        first: the first operator that made a difference; None: they agree.
        values: of the operators in question, by :func:`~.wish.mark`, the element that is farthest off.
    """

    sides: Sides
    comparison: Comparison
    first: Difference | None
    values: dict[str, Judged] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two sides."""
        return self.sides.names

    @property
    def agree(self) -> bool:
        """Whether no result differs beyond rounding."""
        return self.first is None

    def __str__(self) -> str:
        mine, theirs = self.comparison.alone
        lines = [
            f"{self.names[0]} against {self.names[1]}: {len(self.comparison.differences):,} results compared, "
            f"{mine:,} and {theirs:,} are of one side only"
        ]
        if self.first is None:
            worst = self.comparison.closest
            lines.append(
                f"They agree. The largest relative error is {worst.error:.1e}, where {worst.tolerance:.0e} is rounding: "
                f"{_where(worst)}"
            )
            return "\n".join(lines)
        return "\n".join([*lines, "", *self._told(self.first), "", *self._table()])

    def _told(self, first: Difference) -> Iterable[str]:
        yield f"The first difference: {_where(first)}"
        if first.names[0] != first.names[1]:
            yield f"  it is {first.names[0]} on {self.names[0]}, {first.names[1]} on {self.names[1]}"
        if first.what:
            yield f"  {first.what}"
        else:
            given = f"; what went in agrees to {first.given:.1e}"
            if self.sides.compiled or math.isinf(first.given):  # it is not known here
                given = ""
            yield f"  relative error {first.error:.1e}, where {first.tolerance:.0e} is rounding{given}"
        known = self.values.get(mark(first.process, first.key))
        if known is None:
            return
        yield f"  the worst element {list(known.index)}: {known.mine!r} and {known.other!r}, {known.ulp:,.0f} ULP apart"
        if known.inside:
            yield f"  compiled until there, the first to differ in its graph: {known.inside}"
        if known.again is not None:
            yield f"  of what went in on {self.names[0]}, {self.names[1]} makes {known.again:.1e} of relative error"

    def _table(self) -> Iterable[str]:
        yield "The worst, each place once:"
        yield "   error  tolerance          ULP  operator"
        for one in _worst(self.comparison):
            known = self.values.get(mark(one.process, one.key))
            ulp = f"{known.ulp:12,.0f}" if known is not None else " " * 12
            yield f"{one.error:8.1e}  {one.tolerance:9.0e} {ulp}  {_where(one)}"


def _worst(found: Comparison) -> list[Difference]:
    return [one for one in found.worst(_WORST) if one.error]


def _where(one: Difference) -> str:
    place, operator, _ = one.key
    what = place.function if not operator else f"{operator} of {place.function or 'no call'}"
    parts = [f"{what} in {place.site}" if place.site else what, place.module]
    parts += [f"step {place.step + 1}", place.phase]
    parts.append("" if one.process == "main-rank0" else one.process)
    return ", ".join(filter(None, parts))


def diff(
    function: Callable[[], Any],
    on: str | Sequence[str] = (),
    *,
    compiled: bool = False,
    autocast: str = "",
    fallbacks: bool = False,
    steps: int = 0,
    tolerance: float | None = None,
    save: str | os.PathLike[str] | None = None,
    against: str | os.PathLike[str] | None = None,
) -> Found:
    """Call a function in a process for each of two backends, or ways to compute, and compare operator by operator.

    Args:
        function: takes no arguments. It is imported in those processes: it stands at the top of a module or a script, which
            is not to train when it is imported.
        on: the backends, the reference first; of one backend two ways are compared. Default: the active one.
        compiled: compare graphs that ``torch.compile`` makes, run by eager's kernels, with the same ones compiled.
        autocast: have the second run call models inside of a region of autocast, with this type.
        fallbacks: have the CPU compute the operators of the second run.
        steps: after how many steps of optimizers it is enough; 0: when the function returns.
        tolerance: relative error that results may have; None: by type.
        save: where to keep the reference's recording.
        against: a recording that is the reference.

    Raises:
        ConfigError: a backend or a way that there is not, a function that cannot be imported, or a run that has failed.
    """
    named = (on,) if isinstance(on, str) else tuple(on)
    named = named or (current().value,)
    if not 1 <= len(named) <= (1 if against else 2):
        raise ConfigError(
            f"on={named!r}: {'one backend is' if against else 'one or two backends are'} needed"
        )
    recording = None if against is None else Path(against)
    if recording is not None and not recording.is_dir():
        raise ConfigError(f"{recording}: no such directory")
    sides = Sides("" if against else named[0], named[-1], compiled, autocast, fallbacks)
    kept = None if save is None else Path(save)
    program = ("-m", _CALLING, *_importable(function))
    return run(Request(program, sides, steps, tolerance, kept, recording), quiet=True)


_CALLING = "tdev_core.measure.calling"


def _importable(function: Callable[[], Any]) -> tuple[str, str, str]:
    """Return the directory, the module and the name by which another process finds a function."""
    name = getattr(function, "__qualname__", "<unnamed>")
    module = str(getattr(function, "__module__", ""))
    file = str(getattr(sys.modules.get(module), "__file__", None) or "")
    if "<" in name or not file:
        raise ConfigError(
            f"{name} is called in other processes, which import it: define it at the top of a module or a script"
        )
    if module == "__main__":
        return str(Path(file).resolve().parent), Path(file).stem, name
    return "", module, name


def run(request: Request, quiet: bool = False) -> Found:
    """Run the program twice, and compare.

    Raises:
        ConfigError: a run has failed, or nothing can be compared.
    """
    scratch = Path(tempfile.mkdtemp(prefix="tdev-diff-"))
    try:
        return _compared(request, scratch, quiet)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _compared(request: Request, scratch: Path, quiet: bool) -> Found:
    sides = request.sides
    mine = Wish(
        str(request.against or scratch / "reference"),
        steps=request.steps,
        graphs="eager" if sides.compiled else "",
    )
    other = Wish(
        str(scratch / "other"),
        mine.folder,
        request.steps,
        graphs="compiled" if sides.compiled else "",
        autocast=sides.autocast,
        fallbacks=sides.fallbacks,
    )

    def both(marks: tuple[str, ...] = ()) -> None:
        if request.against is None:
            _run(
                request.program, sides.reference, sides.names[0], replace(mine, whole=marks), quiet
            )
        _run(request.program, sides.other, sides.names[1], replace(other, whole=marks), quiet)

    both()
    try:
        rows = [read(Path(wish.folder)) for wish in (mine, other)]
    except ValueError as error:
        if request.against is None:
            raise ConfigError("there is nothing to compare: no operator of torch has run") from None
        raise ConfigError(str(error)) from None
    found = compare(rows[0], rows[1], request.tolerance)
    if not found.differences:
        raise ConfigError("the two runs have no operator in common")
    if request.save is not None:
        shutil.copytree(mine.folder, request.save, dirs_exist_ok=True)
    first = found.first
    values: dict[str, Judged] = {}
    if first is not None and request.against is None:  # what ran elsewhere cannot run here
        marks = tuple(mark(one.process, one.key) for one in [first, *_worst(found)])
        both(tuple(dict.fromkeys(marks)))
        each = ((one, judged(Path(mine.folder), Path(other.folder), one)) for one in marks)
        values = {one: value for one, value in each if value is not None}
    return Found(sides, found, first, values)


def _run(program: Sequence[str], backend: str, name: str, wish: Wish, quiet: bool) -> None:
    """Run a program on a backend, and have it recorded.

    Raises:
        ConfigError: it failed; the message has the end of what it said.
    """
    os.makedirs(wish.folder, exist_ok=True)
    if not quiet:
        again = ", once more for the values" if wish.whole else ""
        print(f"tdev diff: running on {name}{again} …", file=sys.stderr, flush=True)
    env = {
        **os.environ,
        "TDEV_BACKEND": backend,
        "PYTHONHASHSEED": "0",
        VARIABLE: wish.text(),
    }
    if program[:2] == ("-m", _CALLING):
        env["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    if not wish.graphs:
        env["TORCH_COMPILE_DISABLE"] = "1"  # a compiled graph is one operator to whoever watches
    with tempfile.TemporaryFile() as said:
        command = [sys.executable, "-m", "tdev", "run", *program]
        with subprocess.Popen(command, env=env, stdout=said, stderr=subprocess.STDOUT) as started:
            try:
                status = started.wait()
            except BaseException:  # Ctrl-C, which the program has had, too; or SIGTERM
                started.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    started.wait(_PATIENCE)
                started.kill()
                raise
        if status:
            said.seek(0)
            lines = ending(said.read().decode(errors="replace"))
            end = "\n".join(f"  {line}" for line in lines)
            raise ConfigError(f"the program ended with status {status} on {name}:\n{end}")
