"""Says what an audit has found: for a terminal, as Markdown, as JSON, as a page in the site's style."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from typing import Any

from tdev_core.audit.collecting import Audit, Place, Used
from tdev_core.site.build import assets, environment
from tdev_core.site.words import DEVICES

__all__ = ["as_html", "as_json", "as_markdown", "summary"]

VERSION = "1.0.0"
"""The version of the JSON's shape: a new field raises the second number, another meaning the first."""

SHOWN = 3
"""The places that are listed of each name; JSON has all of them."""

METHODS = (
    "No name leads to these; where there is no CUDA, importing tdev puts shims on them. They are told by their names, "
    "to and type by what they are given."
)


def summary(audit: Audit) -> list[str]:
    """Return the lines that say how much was read, and how much of it runs where."""
    names = f"{len(audit.used)} {_s('name', len(audit.used))} of torch in {audit.files} {_s('file', audit.files)}"
    lines = [f"{names}, judged for torch {audit.torches[0]} to {audit.torches[-1]}"]
    if audit.used:
        shares = [f"{DEVICES[b]} {audit.percent(b)} %" for b in DEVICES]
        lines.append(f"Of them run: {', '.join(shares)}")
    if audit.unknown:
        lines.append(f"{len(audit.unknown)} that no torch has in public are not judged")
    if audit.methods:
        said = ", ".join(f".{name} {len(places)}" for name, places in audit.methods)
        lines.append(f"Methods that move to a device or belong to one, which tdev answers: {said}")
    if audit.failed:
        lines.append(f"{len(audit.failed)} {_s('part', len(audit.failed))} could not be read")
    return lines


def _s(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"


def where(places: Sequence[Place]) -> str:
    """Return the first places of a name, and how many more there are."""
    shown = ", ".join(map(str, places[:SHOWN]))
    more = len(places) - SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def advice(used: Used) -> list[str]:
    """Return what to do where a backend has no answer: each reason once."""
    found: dict[str, list[str]] = {}
    for backend in DEVICES:
        cell = used.member.cells[backend]
        if cell.route == "unsupported":
            said = cell.note + (f"; instead: {cell.instead}" if cell.instead else "")
            found.setdefault(said, []).append(DEVICES[backend])
    return [f"{', '.join(backends)}: {said}" for said, backends in found.items()]


def as_markdown(audit: Audit, rows: tuple[Used, ...]) -> str:
    """Return the audit as Markdown."""
    lines = ["# Names of torch, by backend", "", *(f"{line}.  " for line in summary(audit)), ""]
    lines.append(f"| name | {' | '.join(DEVICES)} | uses | first |")
    lines.append(f"| --- | {' | '.join('---' for _ in DEVICES)} | ---: | --- |")
    for one in rows:
        routes = " | ".join(one.member.cells[backend].route for backend in DEVICES)
        lines.append(f"| `{one.spellings[0]}` | {routes} | {len(one.places)} | {one.places[0]} |")
    said = [(one, words) for one in rows for words in advice(one)]
    if said:
        lines += ["", "## What has no answer", ""]
        lines += [f"- `{one.spellings[0]}`: {words}" for one, words in said]
    if audit.methods:
        lines += ["", "## Methods", "", METHODS, ""]
        lines += [f"- `.{name}`: {where(places)}" for name, places in audit.methods]
    if audit.unknown:
        lines += ["", "## Not judged", "", "No torch has these in public.", ""]
        lines += [f"- `{name}` ({places[0]})" for name, places in audit.unknown]
    if audit.failed:
        lines += ["", "## Not read", "", *(f"- {path}: {why}" for path, why in audit.failed)]
    return "\n".join(lines) + "\n"


def as_json(audit: Audit, rows: tuple[Used, ...]) -> str:
    """Return the audit as JSON, with the whole answer of each name."""
    body = {
        "schema": VERSION,
        "torches": list(audit.torches),
        "files": audit.files,
        "names": len(audit.used),
        "percent": {backend: audit.percent(backend) for backend in DEVICES},
        "used": [_row(one) for one in rows],
        "unknown": {name: [str(place) for place in places] for name, places in audit.unknown},
        "methods": {name: [str(place) for place in places] for name, places in audit.methods},
        "failed": [{"path": path, "why": why} for path, why in audit.failed],
    }
    return json.dumps(body, indent=1, ensure_ascii=False) + "\n"


def _row(one: Used) -> dict[str, Any]:
    cells = one.member.cells
    return {
        "name": one.member.name,
        "spellings": list(one.spellings),
        "places": [str(place) for place in one.places],
        "backends": {
            backend: {
                key: value
                for key, value in (
                    ("route", cells[backend].route),
                    ("evidence", cells[backend].evidence),
                    ("note", cells[backend].note),
                    ("instead", cells[backend].instead),
                )
                if value
            }
            for backend in DEVICES
        },
    }


def as_html(audit: Audit, rows: tuple[Used, ...], version: str) -> str:
    """Return the audit as one page that stands alone, in the site's style."""
    style = assets()["site.css"]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    templates = environment(None, None, version)
    return templates.get_template("audit.html.j2").render(
        audit=audit,
        rows=[(one, where(one.places), advice(one)) for one in rows],
        methods=[(name, where(places)) for name, places in audit.methods],
        about_methods=METHODS,
        summary=summary(audit),
        style=style,
        digest=digest,
    )
