"""Finds the first operator of a program that two recordings disagree about, and the worst ones."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tdev_core.measure.digests import Digest, distance, epsilon
from tdev_core.measure.places import Key, Place

__all__ = ["Comparison", "Difference", "Row", "compare", "differ", "read"]

TOLERANCES = {"float64": 1e-9, "float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}
"""Of the norm of a result, by its type: what orders of summation do to a few steps of training, not to one operator."""
_FLIPPED = 5e-2
"""The same of numbers without rounding (masks, indices) that are made of numbers with it, on the other side of a limit."""
_CANCELLED = 4.0
"""How many times the difference and the rounding of what went in may be left where terms cancel each other."""
_OWN = 10.0
"""How many times farther apart results are than what went in, where an operator adds a difference of its own."""


@dataclass(frozen=True)
class Row:
    """One operator that ran: its name in torch, and digests of what went in and came out."""

    name: str
    given: tuple[Digest, ...]
    found: tuple[Digest, ...]


@dataclass(frozen=True)
class Difference:
    """The distance of an operator's results in two runs.

    Attributes:
        process: which process of the program.
        key: the place, and the operator there.
        names: the operator's name in each run.
        error: norm of the difference of its results, relative to their norm.
        given: the same of what went in.
        tolerance: what ``error`` may be, for its type and for what terms that cancel each other leave of what went in.
        what: in words, where shapes or numbers of NaN differ.
    """

    process: str
    key: Key
    names: tuple[str, str]
    error: float
    given: float
    tolerance: float
    what: str = ""

    @property
    def beyond(self) -> bool:
        """Whether the results differ beyond the tolerance; what an optimizer has made of other gradients does not."""
        beyond = not self.error <= self.tolerance
        return beyond and (self.key[0].phase != "optimizer" or not self.given * _OWN > self.error)

    @property
    def own(self) -> bool:
        """Whether the operator itself made the difference: what went in agrees."""
        return self.beyond and not self.given * _OWN > self.error


@dataclass
class Comparison:
    """Two runs, operator by operator, in the order of the reference.

    Attributes:
        differences: of each operator that both have.
        alone: how many operators only the reference has, and only the other run.
    """

    differences: list[Difference] = field(default_factory=list)
    alone: tuple[int, int] = (0, 0)

    @property
    def first(self) -> Difference | None:
        """The first operator that made a difference, else the first whose results differ at all; None: they agree.

        Of several processes that with the earlier step.
        """
        beyond = [one for one in self.differences if one.beyond]
        beyond.sort(key=lambda one: one.key[0].step)
        return next((one for one in beyond if one.own), beyond[0] if beyond else None)

    @property
    def closest(self) -> Difference:
        """The operator with the largest error, of those within their tolerance if there are any.

        Others are what an optimizer has made of gradients that are nothing but rounding.
        """
        return max(self.differences, key=lambda d: (d.error <= d.tolerance, d.error))

    def worst(self, count: int) -> list[Difference]:
        """Return the operators with the largest errors, each place once."""
        found: dict[Place, Difference] = {}
        for one in sorted(self.differences, key=lambda d: (-d.error, d.key)):
            found.setdefault(one.key[0]._replace(step=0, number=0), one)
        return list(found.values())[:count]


def read(folder: Path) -> dict[str, dict[Key, Row]]:
    """Return the operators of each process of a recording, in their order.

    Raises:
        ValueError: the folder holds no recording.
    """
    processes = {path.stem: dict(_rows(path)) for path in sorted(folder.glob("*.jsonl"))}
    if not any(processes.values()):
        raise ValueError(f"{folder} holds no recording: no operator of torch has run")
    return processes


def _rows(path: Path) -> Iterator[tuple[Key, Row]]:
    with open(path, encoding="utf-8") as file:
        for line in file:
            try:
                key, name, given, found = json.loads(line)
            except ValueError:  # a process that was killed leaves half a line
                return
            place, operator, number = key
            sides = [tuple(map(Digest.unpacked, side)) for side in (given, found)]
            yield (Place(*place), operator, number), Row(name, *sides)


def compare(
    reference: Mapping[str, Mapping[Key, Row]],
    other: Mapping[str, Mapping[Key, Row]],
    tolerance: float | None = None,
) -> Comparison:
    """Compare two recordings; ``tolerance`` (relative) is that of every type but integers, default one for each type."""
    found = Comparison()
    mine = theirs = 0
    for process in sorted({*reference, *other}):
        rows, others = reference.get(process, {}), other.get(process, {})
        same = {
            place
            for place, operators in _operators(rows).items()
            if _operators(others).get(place) == operators
        }
        both = [
            key
            for key in rows
            if key in others
            and (not key[1] or key[0] in same)
            and _is_same_call(rows[key], others[key])
        ]
        found.differences += [
            _difference(process, key, rows[key], others[key], tolerance) for key in both
        ]
        mine += len(rows) - len(both)
        theirs += len(others) - len(both)
    found.alone = mine, theirs
    return found


def differ(one: Digest | None, other: Digest | None) -> bool:
    """Tell whether two results of the same inputs differ beyond the tolerance of their type."""
    if one is None or other is None:
        return False
    error, allowed, _ = _apart((one,), (other,), 0.0, one.dtype, None)
    return not error <= allowed


def _is_same_call(row: Row, other: Row) -> bool:
    """Tell whether what went in has the same shapes; where their number differs it is one computation by two names.

    A device's way through torch may make the calls of a place in another order.
    """
    mine, theirs = ([digest.shape for digest in one.given] for one in (row, other))
    return len(mine) != len(theirs) or mine == theirs


def _operators(rows: Mapping[Key, Row]) -> dict[Place, list[str]]:
    """Return what each place is made of: two lists that differ are two ways to compute one thing."""
    found: dict[Place, list[str]] = {}
    for place, operator, _ in rows:
        if operator:
            found.setdefault(place, []).append(operator)
    return found


def _difference(
    process: str, key: Key, row: Row, other: Row, tolerance: float | None
) -> Difference:
    given, slack = 0.0, 0.0
    if len(row.given) == len(other.given):  # else it is one computation by two names
        for one, two in zip(row.given, other.given, strict=True):
            apart, size = distance(one, two), max(one.norm, two.norm)
            given = max(given, apart / size if size and apart else apart)
            rounding = max(epsilon(one.dtype), epsilon(two.dtype)) * size
            if math.isfinite(apart):
                slack = max(slack, _CANCELLED * (apart + rounding))
    coarsest = max((one.dtype for one in (*row.given, *other.given)), key=epsilon, default="int64")
    error, allowed, what = _apart(row.found, other.found, slack, coarsest, tolerance)
    return Difference(process, key, (row.name, other.name), error, given, allowed, what)


def _apart(
    ones: tuple[Digest, ...],
    others: tuple[Digest, ...],
    slack: float,
    given: str,
    tolerance: float | None,
) -> tuple[float, float, str]:
    """Return the relative error of that of several results which is worst for its tolerance, that, and what else differs.

    ``slack`` is what their norms may differ by for what went in, whose coarsest type is ``given``.
    """
    if len(ones) != len(others):
        return math.inf, 0.0, f"{len(ones)} results against {len(others)}"
    worst, error, allowed, what = -1.0, 0.0, 0.0, ""
    for one, other in zip(ones, others, strict=True):
        coarse = max((one.dtype, other.dtype), key=epsilon)
        if epsilon(coarse):  # what is made of coarse numbers is no finer than they are
            coarse = max((coarse, given), key=epsilon)
        may = TOLERANCES.get(coarse, _FLIPPED if epsilon(given) else 0.0)
        if tolerance is not None and epsilon(coarse):
            may = tolerance
        apart, size = distance(one, other), max(one.norm, other.norm)
        if math.isinf(apart):
            what = f"{_words(one)} against {_words(other)}"
        elif size:
            may += slack / size
        relative = apart / size if apart and size else apart
        ratio = relative / may if may else math.inf if relative else 0.0
        if ratio > worst:
            worst, error, allowed = ratio, relative, may
    return error, allowed, what


def _words(one: Digest) -> str:
    odd = [
        f"{count} {word}" for count, word in zip(one.odd, ("NaN", "infinite"), strict=True) if count
    ]
    return " with ".join([f"{one.dtype}{list(one.shape)}", *filter(None, [", ".join(odd)])])
