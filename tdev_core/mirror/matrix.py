"""``python -m tdev matrix``: which function is answered how on which backend.

The table ships with the mirror (``tdev/_matrix.json``, cut out of the generator's catalog), so that
neither torch nor the repository is needed to read it.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from tdev_core.errors import ConfigError

__all__ = ["COLUMNS", "Cell", "Row", "Table", "load", "select"]

COLUMNS = ("cpu", "cuda", "mps", "mlx", "sim")


@dataclass(frozen=True)
class Cell:
    """The answer of one function on one backend, and by what that is known.

    Attributes:
        route: how it is answered.
        evidence: ``executed``, ``executed-on-gpu``, ``inherited`` or ``checked``.
        asserted: what a test asserted of it where it is executed: ``value``, ``effect`` or ``error``.
        note: what is special about it.
    """

    route: str
    evidence: str
    asserted: str
    note: str


@dataclass(frozen=True)
class Row:
    """One function of torch.

    Attributes:
        name: its dotted torch name.
        category: the subject it belongs to.
        planned: whether the migration plan lists it.
        cells: its answer by backend.
        kind: ``function``, ``class``, …; ``gone`` where this torch has no such name.
        mirror: ``same`` where the mirror hands out torch's own object.
        arguments: names of its parameters.
        returns: its return type, as far as torch tells.
        note: what it does, or what is special about it.
        names: other torch names of the same thing.
    """

    name: str
    category: str
    planned: bool
    cells: dict[str, Cell]
    kind: str
    mirror: str
    arguments: str
    returns: str
    note: str
    names: tuple[str, ...]

    @property
    def status(self) -> str:
        """``done`` where each column has an answer, ``partial`` where one has none, or ``gone``."""
        if self.kind == "gone":
            return "gone"
        lacking = any(self.cells[backend].route == "unsupported" for backend in COLUMNS)
        return "partial" if lacking else "done"

    @property
    def remarks(self) -> str:
        """The notes of the columns, each with its backends; what the function does where none has one."""
        by_note: dict[str, list[str]] = {}
        for backend in COLUMNS:
            note = self.cells[backend].note
            if note and note != self.note:
                by_note.setdefault(note, []).append(backend.upper())
        parts = [
            note if len(backends) == len(COLUMNS) else f"{', '.join(backends)}: {note}"
            for note, backends in by_note.items()
        ]
        if parts and all(note.startswith("dispatch key") for note in by_note):
            return "; ".join([self.note, *parts] if self.note else parts)
        special = self.kind == "gone" or self.note.startswith(("torch no longer", "a helper that"))
        return "; ".join([self.note, *parts] if special or not parts else parts)


@dataclass(frozen=True)
class Table:
    """Every row, the torch they are from, and the number of methods with a shim."""

    torch: str
    shims: int
    rows: tuple[Row, ...]

    def by_name(self) -> dict[str, Row]:
        """Return the rows under each of their names."""
        return {name: row for row in self.rows for name in (*row.names, row.name)}


def _path() -> Path:
    spec = importlib.util.find_spec("tdev")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(place) / "_matrix.json"
        if path.is_file():
            return path
    raise ConfigError(
        "the compatibility table tdev/_matrix.json is missing from this installation. Install tdev "
        "again; in a checkout, write it with: python -m generator --render-only"
    )


@lru_cache(maxsize=1)
def load() -> Table:
    """Return the table of the installed mirror.

    Raises:
        ConfigError: the file is missing or damaged.
    """
    path = _path()
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        rows = tuple(
            _row(dict(zip(data["fields"], row, strict=True)), data) for row in data["rows"]
        )
        return Table(data["torch"], data["shims"], rows)
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ConfigError(
            f"{path} cannot be read as the compatibility table ({error}). Install tdev again; in a "
            "checkout, write it with: python -m generator --render-only"
        ) from None


def _row(fields: dict[str, Any], data: dict[str, Any]) -> Row:
    columns = zip(data["backends"], data["cells"][fields["cells"]], strict=True)
    return Row(
        **{
            **fields,
            "category": data["categories"][fields["category"]],
            "planned": bool(fields["planned"]),
            "cells": {backend: Cell(*cell) for backend, cell in columns},
            "names": tuple(fields["names"]),
        }
    )


def select(
    rows: Iterable[Row],
    *,
    pattern: str = "",
    category: str = "",
    backend: str = "",
    route: str = "",
    evidence: str = "",
    status: str = "",
    planned: bool = False,
) -> list[Row]:
    """Return the rows that fit all of what is asked.

    Args:
        rows: where to choose from.
        pattern: a name with ``*`` and ``?``, or a part of a name.
        category: a category, or a part of its name, in any case.
        backend: the backend whose cell ``route`` and ``evidence`` are about; any one where empty.
        route: the route of that cell.
        evidence: the evidence of that cell.
        status: ``done``, ``partial`` or ``gone``.
        planned: only functions that the migration plan lists.
    """
    backends = (backend,) if backend else COLUMNS
    glob = pattern if any(sign in pattern for sign in "*?[") else f"*{pattern}*"

    def fits(row: Row) -> bool:
        cells = [row.cells[name] for name in backends]
        return (
            (not planned or row.planned)
            and category.upper() in row.category
            and (not status or row.status == status)
            and any(
                (not route or cell.route == route) and (not evidence or cell.evidence == evidence)
                for cell in cells
            )
            and any(fnmatchcase(name, glob) for name in (row.name, *row.names))
        )

    return [row for row in rows if fits(row)]
