"""One catalog of many torches: joined from the catalog of each, and taken apart again.

A row says ``since`` and ``until`` where not every torch has it, and ``before`` where older ones have it otherwise:
``{"2.15": {"signatures": [...]}}`` are the values that hold before 2.15. So does a parameter that older torches do not
have, and so do the catalog's own values that are no tables. The newest torch's row is the one that is read first.

Invariant: ``view(join(catalogs), version) == catalogs[version]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from generator.catalog import SCHEMA
from generator.errors import GenerationError

__all__ = ["join", "release", "short", "torches", "view"]

Catalog = dict[str, Any]
_Row = dict[str, Any]

_TABLES = ("modules", "private", "mirrors", "definitions", "shims", "members", "planned")
_NONE = object()
_ABSENT = "absent"  # what a key is said to be that older rows do not have


def short(version: str) -> str:
    """Return the release as a program writes it: ``2.15`` for 2.15.0."""
    return version.rpartition(".")[0]


def release(version: str) -> tuple[int, ...]:
    """Return the release as numbers, to be compared: (2, 15) for 2.15.0 and 2.15."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def torches(catalog: Mapping[str, Any]) -> list[str]:
    """Return the releases that a joined catalog is of, oldest first."""
    found: list[str] = catalog["torches"]
    return found


def join(catalogs: Mapping[str, Catalog], pinned: str) -> Catalog:
    """Return the catalog of all torches; ``catalogs`` are the catalogs by release, ``pinned`` is that of ``torch``."""
    versions = sorted(catalogs, key=release)
    newest_first = [(version, _keyed(catalogs[version])) for version in reversed(versions)]
    joined: Catalog = {"schema": SCHEMA, "torch": pinned, "torches": versions}
    for table in _TABLES:
        names = sorted({name for _, catalog in newest_first for name in catalog[table]})
        joined[table] = {
            name: _joined(
                [(version, catalog[table].get(name)) for version, catalog in newest_first]
            )
            for name in names
        }
    rest = [
        (version, {k: v for k, v in catalog.items() if k not in _TABLES and k != "torch"})
        for version, catalog in newest_first
    ]
    return joined | _joined(rest)


def _joined(rows: Sequence[tuple[str, _Row | None]]) -> _Row:
    """Return one row for those of each torch, newest first; None where a torch lacks it."""
    there = [(version, row) for version, row in rows if row is not None]
    newest, row = there[0]
    joined = dict(row)
    if newest != rows[0][0]:
        joined["until"] = short(newest)
    if there[-1][0] != rows[-1][0]:
        joined["since"] = short(there[-1][0])
    _note_gaps(joined, rows)
    before: dict[str, _Row] = {}
    for (version, newer), (_, older) in zip(there, there[1:], strict=False):
        changed = {
            key: older.get(key, _ABSENT)
            for key in {**newer, **older}
            if newer.get(key, _NONE) != older.get(key, _NONE)
        }
        if changed:
            before[short(version)] = dict(sorted(changed.items()))
    if before:
        joined["before"] = before
        if "signatures" in joined:
            joined["signatures"] = _dated(joined["signatures"], there)
    return joined


def _note_gaps(joined: _Row, rows: Sequence[tuple[str, _Row | None]]) -> None:
    """Say of which torches between the first and the last that has the row it is gone."""
    first = next(number for number, (_, row) in enumerate(rows) if row is not None)
    last = max(number for number, (_, row) in enumerate(rows) if row is not None)
    gaps = [short(version) for version, row in rows[first:last] if row is None]
    if gaps:
        joined["not_in"] = sorted(gaps, key=release)


def _dated(signatures: list[_Row], rows: Sequence[tuple[str, _Row]]) -> list[_Row]:
    """Return the newest signatures with ``since`` at each parameter of a name that older torches do not have."""
    dated = []
    for number, signature in enumerate(signatures):
        parameters = []
        for parameter in signature["parameters"]:
            since = ""
            for version, row in rows:
                same = row["signatures"][number : number + 1]
                if not any(p["name"] == parameter["name"] for s in same for p in s["parameters"]):
                    break
                since = version
            dates = {"since": short(since)} if since and since != rows[-1][0] else {}
            parameters.append({**parameter, **dates})
        dated.append({**signature, "parameters": parameters})
    return dated


def view(joined: Mapping[str, Any], version: str) -> Catalog:
    """Return the catalog of one torch; one that was not joined is its own view.

    Raises:
        GenerationError: the catalog is not about a torch of that release.
    """
    if "torches" not in joined:
        return dict(joined)
    known = [release(one) for one in torches(joined)]
    if release(version) not in known:
        raise GenerationError(
            f"catalog.json is of torch {', '.join(map(short, torches(joined)))}, and not of {version}. Record its "
            f"facts: python -m generator.facts --torch {version}"
        )
    at = release(version)
    rest = {key: value for key, value in joined.items() if key not in (*_TABLES, "torches")}
    catalog = _at(rest, at)
    catalog["torch"] = next(one for one in torches(joined) if release(one) == at)
    for table in _TABLES:
        catalog[table] = {
            name: dict(sorted(_at(row, at).items()))
            for name, row in joined[table].items()
            if _has(row, at)
        }
    return _unkeyed(catalog)


def _has(row: Mapping[str, Any], at: tuple[int, ...]) -> bool:
    if not ("since" in row or "until" in row or "not_in" in row):
        return True
    if any(release(gap) == at for gap in row.get("not_in", ())):
        return False
    since, until = row.get("since"), row.get("until")
    return (since is None or at >= release(since)) and (until is None or at <= release(until))


def _at(row: Mapping[str, Any], at: tuple[int, ...]) -> _Row:
    """Return a row as it is in one torch."""
    before = row.get("before")
    if not before and "since" not in row and "until" not in row:
        return dict(row)
    found = {key: value for key, value in row.items() if key not in _OF_TORCHES}
    if "signatures" in found and before:
        found["signatures"] = [
            {
                **signature,
                "parameters": [
                    {key: value for key, value in parameter.items() if key != "since"}
                    for parameter in signature["parameters"]
                ],
            }
            for signature in found["signatures"]
        ]
    for boundary, values in (before or {}).items():  # newest first
        if at < release(boundary):
            found |= values
    return {key: value for key, value in found.items() if value != _ABSENT}


_OF_TORCHES = frozenset({"since", "until", "not_in", "before"})


def _keyed(catalog: Catalog) -> Catalog:
    """Return a catalog in which shims and definitions are rows with names, as those of other tables are."""
    mirrors: dict[str, _Row] = {}
    definitions: dict[str, _Row] = {}
    for module, mirror in catalog["mirrors"].items():
        mirrors[module] = {key: value for key, value in mirror.items() if key != "definitions"}
        definitions |= {f"{module}:{row['name']}": row for row in mirror["definitions"]}
    shims = {f"{row['owner']}.{row['name']}": row for row in catalog["shims"]}
    return {**catalog, "mirrors": mirrors, "definitions": definitions, "shims": shims}


def _unkeyed(catalog: Catalog) -> Catalog:
    """Return the inverse of :func:`_keyed`."""
    for mirror in catalog["mirrors"].values():
        mirror["definitions"] = []
    for name, row in catalog.pop("definitions").items():
        catalog["mirrors"][name.partition(":")[0]]["definitions"].append(row)
    shims = sorted(catalog["shims"].values(), key=lambda row: (row["owner"], row["name"]))
    return {**catalog, "shims": shims}
