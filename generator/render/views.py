"""What each template gets to see: plain dictionaries cut out of the catalog."""

from __future__ import annotations

import re
import textwrap
from typing import Any

from generator.render.stubs import Stubs

__all__ = ["module_view", "root_view"]


def module_view(name: str, catalog: dict[str, Any]) -> dict[str, Any]:
    """The view of one mirror module."""
    mirror = catalog["mirrors"][name]
    return {
        "torch_version": catalog["torch"],
        "torch_name": name,
        "core_modules": mirror["modules"],
        "uses": _uses(mirror),
        "early": _early(name, mirror),
        **{key: mirror[key] for key in ("home", "elsewhere", "seen")},
        "routed": [row["name"] for row in mirror["definitions"]],
        "objects": _objects([row for row in mirror["definitions"] if row["kind"] == "bound"]),
        "functions": [
            {**row, "doc": _docstring(row["torch_name"], row["summary"])}
            for row in mirror["definitions"]
            if row["kind"] != "bound"
        ],
        "script": {row["name"]: row["script"] for row in mirror["definitions"] if row["script"]},
    }


def _objects(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Classes and values, those that the same backends tell apart together: one ``match`` for each."""
    groups: dict[tuple[tuple[str, ...], ...], dict[str, Any]] = {}
    for row in rows:
        backends = tuple(tuple(arm["backends"]) for arm in row["arms"])
        group = groups.setdefault(
            backends,
            {"names": [], "arms": [{"backends": which, "body": []} for which in backends]},
        )
        group["names"].append(row["name"])
        for whole, arm in zip(group["arms"], row["arms"], strict=True):
            whole["body"] += arm["body"]
    return list(groups.values())


def _early(name: str, mirror: dict[str, Any]) -> bool:
    """Whether a default value is read from the torch module before the mirror adopts it."""
    return any(f"= {name}." in row["signature"] for row in mirror["definitions"])


def _docstring(torch_name: str, summary: str) -> str:
    """The docstring of an emitted function: one line if it fits, else a wrapped paragraph."""
    text = _plain(summary).replace("\\", "\\\\").replace('"', "'")
    line = f"Mirror of ``{torch_name}``" + (f": {text}" if text else ".")
    if len(line) <= 88:
        return line
    rest = textwrap.fill(
        text, 96, initial_indent="    ", subsequent_indent="    ", break_long_words=False
    )
    return f"Mirror of ``{torch_name}``.\n\n{rest}\n    "


def _plain(summary: str) -> str:
    """A summary without Sphinx roles: ``:attr:`x` `` becomes ``x`` in double backquotes."""
    return re.sub(r":\w+:`~?([^`<]*?)(?: <[^`]*)?`", r"``\1``", summary)


def _uses(mirror: dict[str, Any]) -> dict[str, Any]:
    """Which imports the module's bodies need."""
    rows = mirror["definitions"]
    text = "\n".join(line for row in rows for arm in row["arms"] for line in arm["body"])
    return {
        "match": any(len(row["arms"]) > 1 for row in rows),
        "translators": [
            name
            for name in ("translate", "translate_each", "translate_type", "unpinned")
            if f"_{name}(" in text
        ],
        "unsupported": "_unsupported(" in text,
        "any": any("Any" in row["signature"] or row["kind"] == "bound" for row in rows),
    }


def root_view(catalog: dict[str, Any], stubs: Stubs) -> dict[str, Any]:
    """The view of the templates that are not per module: the root, the tools, the list of shims."""
    own = sorted("tdev" + name[len("torch") :] for name in catalog["mirrors"] if name != "torch")
    return {
        **module_view("torch", catalog),
        **stubs.view("torch"),
        "own": own,
        "shims": catalog["shims"],
    }
