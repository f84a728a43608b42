"""One measured number, its budget, and how it is shown."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """A result. ``limit`` is the budget in the same unit, None where the number is only for information."""

    what: str
    value: float
    unit: str  # "x" for a ratio, else "ns", "us", "ms", "MB", "s"
    limit: float | None
    detail: str

    @property
    def within(self) -> bool | None:
        return None if self.limit is None else self.value <= self.limit

    def shown(self, number: float) -> str:
        digits = {"x": 3, "ns": 0, "us": 2, "ms": 1, "MB": 2, "s": 2}[self.unit]
        return f"{number:.{digits}f} {'×' if self.unit == 'x' else self.unit}"

    def cells(self) -> tuple[str, str, str, str, str]:
        budget = "" if self.limit is None else f"≤ {self.shown(self.limit)}"
        verdict = {None: "", True: "within", False: "OVER"}[self.within]
        return self.what, self.shown(self.value), budget, verdict, self.detail


def ratio_of_medians(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return statistics.median(ours) / statistics.median(theirs)


def spread(values: Sequence[float]) -> str:
    """Return the middle half of the values, for judging how much a median can be trusted."""
    low, _, high = statistics.quantiles(values, n=4)
    return f"{low:.3g} to {high:.3g}"
