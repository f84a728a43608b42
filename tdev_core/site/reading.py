"""Reads ``catalog.json`` into the members, modules and methods of :mod:`.catalog`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tdev_core.errors import ConfigError
from tdev_core.site.catalog import (
    BACKENDS,
    Arm,
    Catalog,
    Cell,
    Change,
    Gone,
    Member,
    Module,
    Shim,
)

__all__ = ["read"]

_SCHEMA = 4
_INSTEAD = "; instead: "


def read(path: Path) -> Catalog:
    """Return the catalog in the file ``path``.

    Raises:
        ConfigError: it is missing, damaged, or of another schema.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data["schema"] != _SCHEMA:
            raise ValueError(f"schema {data['schema']} instead of {_SCHEMA}")
        return _catalog(data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"{path} cannot be read as the catalog ({error}). Install tdev again; in a checkout, write it "
            "with: python -m generator"
        ) from None


def _catalog(data: dict[str, Any]) -> Catalog:
    definitions = {one["torch_name"]: one for one in data["definitions"].values()}
    planned = {plan["member"] for plan in data["planned"].values()}
    members = sorted(
        (
            _member(key, row, definitions.get(key), key in planned)
            for key, row in data["members"].items()
        ),
        key=lambda member: member.name,
    )
    # A module lists what the newest torch has; its page has each name that any of them has.
    inside: dict[str, list[str]] = {name: [] for name in data["modules"]}
    for name in sorted(name for member in members for name in member.names):
        inside[name.rpartition(".")[0]].append(name.rpartition(".")[2])
    return Catalog(
        torch=data["torch"],
        torches=tuple(data["torches"]),
        members={member.name: member for member in members},
        modules={
            name: Module(name, row["summary"], tuple(inside[name]))
            for name, row in data["modules"].items()
        },
        shims={
            name: Shim(name, tuple(str(device[0]) for device in row["devices"]), row["factory"])
            for name, row in data["shims"].items()
        },
        gone=tuple(
            Gone(name, plan["category"], plan["gone"], plan["successor"])
            for name, plan in data["planned"].items()
            if plan["gone"]
        ),
        plan={name: plan["category"] for name, plan in data["planned"].items()},
    )


def _member(
    key: str, row: dict[str, Any], definition: dict[str, Any] | None, planned: bool
) -> Member:
    names = tuple(sorted(row["exports"] or [key]))
    return Member(
        name=min(names, key=lambda name: (name.count("."), len(name), name)),
        names=names,
        kind=row["kind"],
        signatures=tuple(map(_signature, row["signatures"])),
        summary=row["summary"] or "",
        deprecated=row["deprecated"] or "",
        category=row["category"],
        priority=row["priority"],
        helper=row["helper"],
        planned=planned,
        mirror=row["mirror"],
        since=row.get("since", ""),
        until=row.get("until", ""),
        changes=tuple(_changes(row)),
        value=row.get("value") or "",
        cells={backend: _cell(row[backend]) for backend in BACKENDS},
        emitted=definition["signature"] if definition else "",
        arms=tuple(
            Arm(tuple(map(str.lower, arm["backends"])), "\n".join(arm["body"]))
            for arm in (definition["arms"] if definition else ())
        ),
    )


def _changes(row: dict[str, Any]) -> Iterator[Change]:
    names = set(row["exports"])
    for version, older in sorted(row.get("before", {}).items(), key=_newest):
        before = set(older.get("exports", names))
        moved = [f"+{name}" for name in sorted(names - before)]
        moved += [f"-{name}" for name in sorted(before - names)]
        signatures = older.get("signatures")
        if signatures is not None or (moved and not row["helper"]):
            yield Change(
                version,
                None if signatures is None else tuple(map(_signature, signatures)),
                tuple(moved),
            )
        names = before


def _newest(item: tuple[str, Any]) -> tuple[int, ...]:
    return tuple(-int(part) for part in item[0].split("."))


def _cell(cell: dict[str, Any]) -> Cell:
    note, _, instead = cell["note"].partition(_INSTEAD)
    ignores = tuple(sorted(cell.get("ignores", {}).items()))
    return Cell(cell["route"], cell["evidence"], cell["asserted"], note, instead, ignores)


_STARS = {"var_positional": "*", "var_keyword": "**"}


def _signature(signature: dict[str, Any]) -> str:
    """Return ``(input: torch.Tensor, *, out=None) -> torch.Tensor``."""
    parts: list[str] = []
    kinds = [parameter["kind"] for parameter in signature["parameters"]]
    for number, parameter in enumerate(signature["parameters"]):
        kind = parameter["kind"]
        if kind == "keyword_only" and not {"keyword_only", "var_positional"} & set(kinds[:number]):
            parts.append("*")
        text = _STARS.get(kind, "") + parameter["name"]
        if parameter["annotation"]:
            text += f": {parameter['annotation']}"
        if parameter["default"] is not None:
            text += f"{' = ' if parameter['annotation'] else '='}{parameter['default']}"
        if since := parameter.get("since"):
            text += f" [torch {since}]"
        parts.append(text)
        if kind == "positional_only" and "positional_only" not in kinds[number + 1 :]:
            parts.append("/")
    returns = f" -> {signature['returns']}" if signature["returns"] else ""
    return f"({', '.join(parts)}){returns}"
