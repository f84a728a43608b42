"""One catalog to emit from, of all that a joined one is of: each name once, as the newest torch has it.

What not every torch has says so: a row by ``since`` and ``until``, the names of a module by ``partial``, which tells of
each which torches have it (``"2.14 and newer"``). A definition that older torches need otherwise, because their
function takes other arguments, carries those forms as ``older``: what differs in a summary, an annotation or the
text of a type is for the newest to say.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from generator.errors import GenerationError
from generator.union import release, short, torches, view

__all__ = ["merged", "range_text"]

_Row = dict[str, Any]
_Views = Mapping[str, Mapping[str, Any]]  # by release, newest first


def merged(catalog: Mapping[str, Any]) -> dict[str, Any]:
    """Return the catalog to emit from; one that is of a single torch is that, and is completed.

    Raises:
        GenerationError: two torches want shims of the same method at different places.
    """
    if "torches" in catalog:
        views: _Views = {one: view(catalog, one) for one in reversed(torches(catalog))}
    else:
        views = {catalog["torch"]: catalog}
    versions = list(views)
    newest = views[versions[0]]
    result = dict(newest)
    result["range"] = " to ".join(dict.fromkeys((short(versions[-1]), short(versions[0]))))
    result["members"] = _members(views)
    result["planned"] = views[catalog["torch"]]["planned"]
    for table in ("modules", "private"):
        result[table] = {name: _module(name, table, views) for name in sorted(_names(views, table))}
    result["untyped"] = sorted({name for one in views.values() for name in one["untyped"]})
    result["mirrors"] = {
        name: _mirror(name, views, result["modules"][name]["partial"])
        for name in sorted(_names(views, "mirrors"))
    }
    result["shims"] = _shims(views)
    return result


def range_text(having: list[str], versions: list[str]) -> str:
    """Return which torches have what ``having`` have, of ``versions``, newest first; empty where all do."""
    if len(having) == len(versions):
        return ""
    shown = sorted(map(short, having), key=release)
    if having[0] == versions[0] and having == versions[: len(having)]:
        return f"{shown[0]} and newer"
    if having[-1] == versions[-1] and having == versions[-len(having) :]:
        return f"{shown[-1]} and older"
    return " and ".join(shown)


def _names(views: _Views, table: str) -> set[str]:
    return {name for one in views.values() for name in one[table]}


def _members(views: _Views) -> dict[str, _Row]:
    """Return every member, as the newest torch that exports it under one of its names has it."""
    found: dict[str, _Row] = {}
    exported: set[str] = set()
    for one in views.values():
        new = {
            name: row
            for name, row in one["members"].items()
            if name not in found and exported.isdisjoint(row["exports"])
        }
        found |= new
        exported.update(path for row in new.values() for path in row["exports"])
    return dict(sorted(found.items()))


def _module(name: str, table: str, views: _Views) -> _Row:
    """Return a module with every name that it has in any torch."""
    rows = {version: one[table][name] for version, one in views.items() if name in one[table]}
    row = dict(next(iter(rows.values())))
    row["since"] = _since(list(rows), list(views))
    everywhere: dict[str, list[str]] = {}
    for version, one in rows.items():
        for item in _offered(one):
            everywhere.setdefault(item, []).append(version)
    row["partial"] = {
        item: text
        for item, having in sorted(everywhere.items())
        if (text := range_text(having, list(views)))
    }
    for key in ("names", "typed", "missing"):
        if key in row:
            row[key] = sorted({item for one in rows.values() for item in one[key]})
    if "modules" in row:
        pairs = {
            item: [item, target]
            for one in reversed(rows.values())
            for item, target in one["modules"]
        }
        row["modules"] = [pairs[item] for item in sorted(pairs)]
    typed = {*row.get("typed", ())}
    row["loaded"] = sorted({item for one in rows.values() for item in one["loaded"]} - typed)
    return row


def _offered(row: Mapping[str, Any]) -> set[str]:
    found = {*row["names"], *row.get("typed", ()), *row["loaded"]}
    return found | {item for item, _ in row.get("modules", ())}


def _since(having: list[str], versions: list[str]) -> list[int]:
    """Return the first torch that has it, as two numbers; none where the oldest does."""
    return [] if having[-1] == versions[-1] else list(release(having[-1]))


def _mirror(name: str, views: _Views, partial: Mapping[str, str]) -> _Row:
    rows = {
        version: one["mirrors"][name] for version, one in views.items() if name in one["mirrors"]
    }
    row = dict(next(iter(rows.values())))
    definitions: dict[str, dict[str, _Row]] = {}
    for version, one in rows.items():
        for definition in one["definitions"]:
            definitions.setdefault(definition["name"], {})[version] = definition
    row["since"] = _since(list(rows), list(views))
    row["definitions"] = [
        _definition(definitions[item], list(views)) for item in sorted(definitions)
    ]
    row["elsewhere"] = dict(
        sorted(
            {k: v for one in reversed(rows.values()) for k, v in one["elsewhere"].items()}.items()
        )
    )
    for key in ("modules", "kinds"):
        row[key] = sorted({item for one in rows.values() for item in one[key]})
    row["partial"] = {item: text for item, text in partial.items() if not item.startswith("_")}
    return row


def _definition(rows: Mapping[str, _Row], versions: list[str]) -> _Row:
    """Return the newest form of a definition; ``older`` are others, each with the first torch of the form before."""
    having = list(rows)
    row = {**rows[having[0]], "only": range_text(having, versions), "older": []}
    for version, earlier in zip(having, having[1:], strict=False):
        if _form(rows[version]) != _form(rows[earlier]):
            row["older"].append({**rows[earlier], "before": list(release(version))})
    return row


def _form(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what two torches have to agree in for one definition to serve both."""
    same = tuple(str(row[key]) for key in ("kind", "arms", "script", "passing"))
    return same + (_without_annotations(row["signature"]),)


@lru_cache(maxsize=4096)
def _without_annotations(signature: str) -> str:
    tree = ast.parse(f"def f{signature or '()'}: ...")
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    return ast.unparse(tree)


def _shims(views: _Views) -> list[_Row]:
    found: dict[tuple[str, str], _Row] = {}
    for one in views.values():
        for row in one["shims"]:
            newer = found.setdefault((row["owner"], row["name"]), row)
            if newer != row:
                raise GenerationError(
                    f"{row['owner']}.{row['name']}: torch {one['torch']} takes the device elsewhere than newer "
                    "torches; write a factory for it in generator/routes/shims.toml."
                )
    return [found[key] for key in sorted(found)]
