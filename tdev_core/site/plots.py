"""Draws what was measured against its budget: bars, as numbers that a template turns into SVG."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Bar", "budgets"]

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Bar:
    """One measurement, as a part of its budget.

    Attributes:
        label: what was measured.
        measured: the number with its unit.
        budget: the limit with its unit.
        part: measured by budget; 1 is as much as is allowed.
    """

    label: str
    measured: str
    budget: str
    part: float


def budgets(tables: Iterable[tuple[tuple[str, ...], ...]]) -> list[Bar]:
    """Return a bar for each row that has a measurement and a budget; none where no table has both columns."""
    found = []
    for headings, *rows in tables:
        if not {"measured", "budget"} <= set(headings):
            continue
        at, limit = headings.index("measured"), headings.index("budget")
        for row in rows:
            measured, allowed = _NUMBER.search(row[at]), _NUMBER.search(row[limit])
            if measured and allowed and float(allowed[0]) > 0:
                part = max(float(measured[0]), 0.0) / float(allowed[0])
                found.append(Bar(row[0], row[at], row[limit], round(part, 3)))
    return found
