"""The functions of the migration plan, read from ``plan_functions.toml``.

Invariants: a function belongs to one category; an entry under ``gone`` is one of them, and says what
became of it; all others are names that torch has.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

from generator.errors import Decision, GenerationError

__all__ = ["Planned", "check_planned", "read_planned"]

_WHERE = "plan_functions.toml"


@dataclass(frozen=True)
class Planned:
    """One function of the plan; ``gone`` says what became of a name that torch dropped.

    ``successor`` is the name of torch that means the same now, or empty.
    """

    dotted: str
    category: str
    gone: str = ""
    successor: str = ""


def read_planned(tables: Mapping[str, Any]) -> tuple[Planned, ...]:
    """Return the rows of the file, sorted by category and name.

    Raises:
        GenerationError: a key is unknown, a function is listed twice, or an entry under ``gone`` has
            no category or no note.
    """
    gone = _table(tables.get("gone", {}), "gone")
    for dotted, entry in gone.items():
        _only(_table(entry, dotted), {"successor", "note"}, f'gone."{dotted}"')
        if not entry.get("note"):
            raise GenerationError(f'{_WHERE}: [gone."{dotted}"] needs a note: what became of it?')
    found: dict[str, Planned] = {}
    for category, table in tables.items():
        if category == "gone":
            continue
        _only(_table(table, category), {"functions"}, category)
        for dotted in table.get("functions", ()):
            if dotted in found:
                raise GenerationError(
                    f"{_WHERE}: [{category}] {dotted!r} is in {found[dotted].category} already."
                )
            entry = gone.get(dotted, {})
            found[dotted] = Planned(
                dotted, category, entry.get("note", ""), entry.get("successor", "")
            )
    strays = sorted(gone.keys() - found.keys())
    if strays:
        raise GenerationError(f"{_WHERE}: {', '.join(strays)} under gone are in no category.")
    return tuple(sorted(found.values(), key=lambda row: (row.category, row.dotted)))


def check_planned(
    planned: tuple[Planned, ...], known: Container[str], torch: str
) -> list[Decision]:
    """Return where the list and torch's names do not agree: torch lacks a function that is not under ``gone``, or
    has one that is, or lacks a successor."""
    found: list[Decision] = []
    for row in planned:
        if not row.gone and row.dotted not in known:
            text = f'has no {row.dotted!r}. Say under [gone."{row.dotted}"] what became of it.'
        elif row.gone and row.dotted in known:
            text = f"has {row.dotted!r}; delete its entry under gone."
        elif row.successor and row.successor not in known:
            text = f"does not have {row.successor!r}, which is to answer {row.dotted!r}."
        else:
            continue
        found.append(Decision(f"{_WHERE}: torch {torch} {text}", row.dotted))
    return found


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise GenerationError(f"{_WHERE}: {where}: expected a table, found {value!r}.")
    return value


def _only(table: Mapping[str, Any], known: set[str], where: str) -> None:
    for key in table:
        if key not in known:
            raise GenerationError(
                f"{_WHERE}: [{where}]: unknown key {key!r}; known are {', '.join(sorted(known))}."
            )
