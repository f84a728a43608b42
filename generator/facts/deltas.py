"""Facts of torches that are not installed: for each a file with what differs from those of the pinned one.

``generator/facts/torches/2.15.0.json`` holds, a line for each entry, what has to be changed in the facts of the
pinned torch to get those of 2.15.0: an entry that only 2.15.0 has is there whole, one that it lacks is null, and of
the others there are the fields that differ; of a field that is a list, ``[start, how many go, what comes]`` for each
place. ``python -m generator.facts --torch 2.15.0`` writes it.

Kernels for XPU are left out: nothing is told of them, and every release changes a thousand.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from generator.facts.cache import MAKERS, as_json
from generator.facts.model import Facts
from generator.facts.pin import FactsError

__all__ = ["FOLDER", "applied", "difference", "dumps", "path_of", "read", "recorded"]

FOLDER = Path(__file__).resolve().parent / "torches"

_Entry = dict[str, Any]

# The tables of facts, and the fields that tell the entries of one apart.
_TABLES: Mapping[str, tuple[str, ...]] = {
    "modules": ("name",),
    "members": ("name",),
    "methods": ("owner", "name", "kind"),
    "operators": ("name", "overload"),
    "private": ("name",),
}
_LISTS = ("skipped", "differences")


def recorded(folder: Path = FOLDER) -> list[str]:
    """Return the releases that there is a file of, oldest first."""
    return sorted((path.stem for path in folder.glob("*.json")), key=_numbers)


def path_of(version: str, folder: Path = FOLDER) -> Path:
    """Return the file of a release."""
    return folder / f"{version}.json"


def difference(base: Facts, other: Facts) -> dict[str, Any]:
    """Return what makes the facts ``other`` of ``base``, of JSON types only; :func:`applied` is the inverse."""
    found: dict[str, Any] = {"base": base.torch, "torch": other.torch}
    for table in _TABLES:
        before, after = _keyed(table, base), _keyed(table, other)
        rows: dict[str, Any] = dict.fromkeys(sorted(before.keys() - after.keys()))
        for key, entry in after.items():
            if key not in before:
                rows[key] = entry
            elif edits := _edits(before[key], entry):
                rows[key] = edits
        found[table] = dict(sorted(rows.items()))
    for name in _LISTS:
        found[name] = _patch(as_json(getattr(base, name)), as_json(getattr(other, name)))
    return found


def applied(base: Facts, delta: Mapping[str, Any]) -> Facts:
    """Return the facts that ``delta`` was written of.

    Raises:
        FactsError: it tells of differences from another torch than that of ``base``.
    """
    if delta["base"] != base.torch:
        raise FactsError(
            f"what is recorded of torch {delta['torch']} differs from torch {delta['base']}, and the facts are those of "
            f"{base.torch}. Record it again: python -m generator.facts --torch {delta['torch']}"
        )
    tables: dict[str, Any] = {}
    for table, fields in _TABLES.items():
        make = MAKERS[table]
        entries = {_key(entry, fields): entry for entry in getattr(base, table)}
        for key, row in delta[table].items():
            if row is None:
                del entries[key]
            elif key not in entries:
                entries[key] = make(row)
            else:
                entries[key] = make(_edited(as_json(entries[key]), row))
        tables[table] = tuple(
            sorted(entries.values(), key=lambda entry: _order(entry, fields))  # noqa: B023
        )
    lists: dict[str, Any] = {
        name: tuple(
            tuple(one) if isinstance(one, list) else one
            for one in _patched(as_json(getattr(base, name)), delta[name])
        )
        for name in _LISTS
    }
    return Facts(torch=delta["torch"], **tables, **lists)


def read(version: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Return what was recorded of a release."""
    delta: dict[str, Any] = json.loads(path_of(version, folder).read_text(encoding="utf-8"))
    return delta


def dumps(delta: Mapping[str, Any]) -> str:
    """Return a delta as text, one line for each entry."""
    lines = []
    for key, value in delta.items():
        if isinstance(value, dict):
            rows = (f"  {json.dumps(name)}: {_compact(row)}" for name, row in value.items())
            lines.append(f"{json.dumps(key)}: {{\n" + ",\n".join(rows) + "\n}")
        else:
            lines.append(f"{json.dumps(key)}: {_compact(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _order(entry: Any, fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(getattr(entry, field) for field in fields)


def _key(entry: Any, fields: tuple[str, ...]) -> str:
    return " ".join(_order(entry, fields))


def _keyed(table: str, facts: Facts) -> dict[str, _Entry]:
    fields = _TABLES[table]
    keyed = {_key(entry, fields): as_json(entry) for entry in getattr(facts, table)}
    if table == "operators":
        for entry in keyed.values():
            entry["dispatch"] = {k: v for k, v in entry["dispatch"].items() if "XPU" not in k}
    return keyed


def _edits(before: _Entry, after: _Entry) -> _Entry:
    """Return the fields that differ: lists as patches, and the one entry of a list as its own edits."""
    found: _Entry = {}
    for field, value in after.items():
        was = before[field]
        if was == value:
            continue
        if _is_of_one(was) and _is_of_one(value):
            found[field] = _edits(was[0], value[0])
        else:
            found[field] = _patch(was, value) if isinstance(value, list) else value
    return found


def _edited(entry: _Entry, edits: _Entry) -> _Entry:
    result = dict(entry)
    for field, value in edits.items():
        was = entry[field]
        if _is_of_one(was) and isinstance(value, dict):
            result[field] = [_edited(was[0], value)]
        else:
            result[field] = _patched(was, value) if isinstance(was, list) else value
    return result


def _is_of_one(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict)


def _patch(before: list[Any], after: list[Any]) -> list[list[Any]]:
    """Return ``[start, how many go, what comes]`` of each place, in order; starts are those of ``before``."""
    return list(_places(before, after))


def _places(before: list[Any], after: list[Any]) -> Iterator[list[Any]]:
    matcher = SequenceMatcher(
        None, [_compact(one) for one in before], [_compact(one) for one in after], autojunk=False
    )
    for tag, start, end, first, last in matcher.get_opcodes():
        if tag != "equal":
            yield [start, end - start, after[first:last]]


def _patched(before: list[Any], patch: list[list[Any]]) -> list[Any]:
    result = list(before)
    for start, gone, new in reversed(patch):
        result[start : start + gone] = new
    return result
