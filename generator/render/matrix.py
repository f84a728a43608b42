"""The compatibility table that ships with the mirror, cut out of the catalog.

``tdev/_matrix.json`` holds one row for each function of the migration plan and for each other public
member, under the shortest of its names. What many rows share (categories, cells) is listed once and
referred to by number; ``tdev_core.mirror.matrix`` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

__all__ = ["BACKENDS", "FIELDS", "matrix_text"]

BACKENDS = ("cpu", "cuda", "mps", "mlx", "sim")
_CELL = ("route", "evidence", "asserted", "note")
FIELDS = (
    "name",
    "category",
    "planned",
    "cells",
    "kind",
    "mirror",
    "arguments",
    "returns",
    "note",
    "names",
)


def matrix_text(catalog: dict[str, Any]) -> str:
    """Return the table as JSON, one line for each row."""
    categories = _Numbers()
    cells = _Numbers()
    rows: list[list[Any]] = []
    seen: set[str] = set()
    for dotted, plan in catalog["planned"].items():
        member = catalog["members"].get(plan["member"])
        seen.add(plan["member"])
        rows.append(
            _row(dotted, plan["category"], True, member, _why(dotted, plan), categories, cells)
        )
    for name, member in catalog["members"].items():
        if name not in seen or _reached_otherwise(member, catalog["planned"]):
            shown = min(member["exports"], key=lambda path: (path.count("."), len(path), path))
            if shown not in catalog["planned"]:
                rows.append(_row(shown, member["category"], False, member, "", categories, cells))
    rows.sort(key=lambda row: row[0])
    lines = [
        f'{{"torch": {json.dumps(catalog["range"])},',
        f'"fields": {json.dumps(FIELDS)},',
        f'"backends": {json.dumps(BACKENDS)},',
        f'"categories": {json.dumps(categories.items)},',
        f'"shims": {len(catalog["shims"])},',
        _block("cells", cells.items),
        _block("rows", rows).rstrip(",") + "}",
    ]
    return "\n".join(lines) + "\n"


def _reached_otherwise(member: dict[str, Any], planned: Iterable[str]) -> bool:
    """Tell whether only a name that torch dropped leads from the plan to ``member``."""
    return not any(path in planned for path in member["exports"])


def _row(
    dotted: str,
    category: str,
    planned: bool,
    member: dict[str, Any] | None,
    note: str,
    categories: _Numbers,
    cells: _Numbers,
) -> list[Any]:
    number = categories.of(category)
    if member is None:
        nothing = [["unsupported", "checked", "", note]] * len(BACKENDS)
        return [dotted, number, int(planned), cells.of(nothing), "gone", "gone", "", "", note, []]
    if member["helper"]:
        note = note or "a helper that torch only re-exports; the mirror hands on the same object"
    columns = [member[backend] for backend in BACKENDS]
    signature = member["signatures"][0] if member["signatures"] else None
    names = [path for path in member["exports"] if path != dotted]
    return [
        dotted,
        number,
        int(planned),
        cells.of([[cell[key] for key in _CELL] for cell in columns]),
        member["kind"],
        member["mirror"],
        ", ".join(parameter["name"] for parameter in signature["parameters"]) if signature else "",
        (signature["returns"] or "") if signature else "",
        note or member["summary"],
        names if member["mirror"] != "same" else [],
    ]


def _why(dotted: str, plan: dict[str, Any]) -> str:
    if not plan["gone"]:
        return ""
    answered = f"; {plan['successor']} answers" if plan["successor"] else ""
    return f"torch no longer has it: {plan['gone']}{answered}"


def _block(key: str, rows: list[Any]) -> str:
    lines = ",\n".join(_compact(row) for row in rows)
    return f"{_compact(key)}: [\n{lines}\n],"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Numbers:
    """Numbers values in the order in which they first come up."""

    def __init__(self) -> None:
        self.items: list[Any] = []
        self._of: dict[str, int] = {}

    def of(self, value: Any) -> int:
        """Return the number of ``value``."""
        key = json.dumps(value)
        if key not in self._of:
            self._of[key] = len(self.items)
            self.items.append(value)
        return self._of[key]
