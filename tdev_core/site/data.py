"""Makes the data of the site: ``catalog/v1``, one file for each member and one whole, with a JSON schema."""

from __future__ import annotations

import json
from typing import Any

from tdev_core.site.catalog import BACKENDS, Catalog, Cell, Member
from tdev_core.site.naming import Addresses
from tdev_core.site.words import EVIDENCE, ROUTES

__all__ = ["VERSION", "files", "row", "schema"]

VERSION = "1.0.0"
"""The version of the data's shape: a new field raises the second number, another meaning the first and ``v1``."""

_FOLDER = "catalog/v1"
_OWN = {"route": "same", "evidence": "inherited"}
"""The cell of torch's own object. Three of four members have nothing else, which would be a tenth of the site."""


def files(catalog: Catalog, addresses: Addresses, version: str) -> dict[str, str]:
    """Return the files of the data, by path."""
    rows = {member.name: row(member, addresses) for member in catalog.members.values()}
    whole = {
        "schema": VERSION,
        "tdev": version,
        "torch": catalog.torch,
        "torches": list(catalog.torches),
        "backends": list(BACKENDS),
        "members": list(rows.values()),
    }
    found = {
        addresses.data(member): _compact(rows[member.name]) for member in catalog.members.values()
    }
    found[f"{_FOLDER}/catalog.json"] = _lines(whole)
    found[f"{_FOLDER}/schema.json"] = json.dumps(schema(), indent=1) + "\n"
    return found


def row(member: Member, addresses: Addresses) -> dict[str, Any]:
    """Return what the data says of a member; what is empty is left out."""
    every: dict[str, Any] = {
        "name": member.name,
        "names": [name for name in member.names if name != member.name],
        "kind": member.kind,
        "category": member.category,
        "priority": member.priority,
        "planned": member.planned,
        "helper": member.helper,
        "mirror": member.mirror,
        "since": member.since,
        "until": member.until,
        "deprecated": member.deprecated,
        "summary": member.summary,
        "signatures": list(member.signatures),
        "value": member.value,
        "page": addresses.member(member),
    }
    found = {key: value for key, value in every.items() if value}
    cells = {backend: _cell(member.cells[backend]) for backend in BACKENDS}
    if any(cell != _OWN for cell in cells.values()):
        found["backends"] = cells
    return found


def _cell(cell: Cell) -> dict[str, Any]:
    every = {
        "route": cell.route,
        "evidence": cell.evidence,
        "asserted": cell.asserted,
        "note": cell.note,
        "instead": cell.instead,
        "ignores": dict(cell.ignores),
    }
    return {key: value for key, value in every.items() if value}


def schema() -> dict[str, Any]:
    """Return the JSON schema of ``catalog.json``; ``#/$defs/member`` is that of a member's own file."""
    text = {"type": "string"}
    some = {"type": "string", "minLength": 1}
    texts = {"type": "array", "items": some}
    cell = {
        "type": "object",
        "description": "The answer on one backend.",
        "required": ["route", "evidence"],
        "additionalProperties": False,
        "properties": {
            "route": {"enum": list(ROUTES)},
            "evidence": {"enum": list(EVIDENCE)},
            "asserted": {"enum": ["value", "effect", "error"]},
            "note": some,
            "instead": some,
            "ignores": {"type": "object", "additionalProperties": some},
        },
    }
    member = {
        "type": "object",
        "description": "One thing that torch has a name for. What is empty is left out.",
        "required": ["name", "kind", "category", "priority", "mirror", "page"],
        "additionalProperties": False,
        "properties": {
            "name": {**some, "description": "the shortest of its names"},
            "names": {**texts, "description": "its other names"},
            "kind": some,
            "category": some,
            "priority": {"enum": ["P0", "P1", "P2", "P3", "P4"]},
            "planned": {"const": True},
            "helper": {"const": True},
            "mirror": {"enum": ["same", "routed", "bound", "translated"]},
            "since": {**some, "description": "the first torch that has it"},
            "until": {**some, "description": "the last torch that has it"},
            "deprecated": some,
            "summary": some,
            "signatures": texts,
            "value": some,
            "page": {**some, "description": "its page, relative to the root of the site"},
            "backends": {
                "type": "object",
                "description": "absent: torch's own object on each of them (route same, evidence inherited)",
                "required": list(BACKENDS),
                "additionalProperties": False,
                "properties": {backend: {"$ref": "#/$defs/cell"} for backend in BACKENDS},
            },
        },
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"tdev's catalog of torch, shape {VERSION}",
        "type": "object",
        "required": ["schema", "tdev", "torch", "torches", "backends", "members"],
        "additionalProperties": False,
        "properties": {
            "schema": {"const": VERSION},
            "tdev": text,
            "torch": text,
            "torches": texts,
            "backends": {"const": list(BACKENDS)},
            "members": {"type": "array", "items": {"$ref": "#/$defs/member"}},
        },
        "$defs": {"cell": cell, "member": member},
    }


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n"


def _lines(whole: dict[str, Any]) -> str:
    """Return the whole with one line for each member, so that a diff of two releases can be read."""
    head = json.dumps({**whole, "members": []}, ensure_ascii=False, separators=(",", ":"))
    rows = ",\n".join(_compact(one).rstrip("\n") for one in whole["members"])
    return f"{head.removesuffix(']}')}\n{rows}\n]}}\n"
