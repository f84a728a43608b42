"""What each template gets to see: plain dictionaries cut out of the catalog."""

from __future__ import annotations

import re
import textwrap
from typing import Any

__all__ = ["module_view", "root_view", "stub_view", "whole_modules"]


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


def whole_modules(catalog: dict[str, Any]) -> frozenset[str]:
    """Modules in which a checker finds every submodule, at any depth, by reading torch's own source.

    The others need stubs of ours to name their submodules; to these, torch's own module may stand for
    the mirror's, and a checker that follows a stub there reads no further one.
    """
    whole: dict[str, bool] = {}
    for name in sorted(catalog["modules"], key=len, reverse=True):  # submodules first
        module = catalog["modules"][name]
        whole[name] = all(
            leaf in module["typed"] and whole.get(target, True)
            for leaf, target in module["modules"]
            if target == f"{name}.{leaf}"
        )
    return frozenset(name for name, is_whole in whole.items() if is_whole)


def root_view(catalog: dict[str, Any], whole: frozenset[str]) -> dict[str, Any]:
    """The view of the templates that are not per module: the root, the tools, the list of shims."""
    own = sorted("tdev" + name[len("torch") :] for name in catalog["mirrors"] if name != "torch")
    return {
        **module_view("torch", catalog),
        **stub_view("torch", catalog, whole),
        "own": own,
        "shims": catalog["shims"],
    }


def stub_view(name: str, catalog: dict[str, Any], whole: frozenset[str]) -> dict[str, Any]:
    """The view of one user-facing stub: names that a checker sees in torch's module, and modules.

    ``whole`` is what :func:`whole_modules` found: those are handed on as torch's own.
    """
    module = catalog["modules"][name]
    submodules = dict(module["modules"])
    modules: dict[bool, list[dict[str, str]]] = {True: [], False: []}
    for attribute, target in sorted(submodules.items()):
        if attribute not in module["typed"] and target != f"{name}.{attribute}":
            continue
        parent, _, leaf = target.rpartition(".")
        if not parent:
            continue
        ours = target in catalog["modules"] and target not in whole
        root = "tdev" + parent[len("torch") :] if ours else parent
        seen = attribute in module["typed"]
        modules[seen].append({"from": root, "name": leaf, "as": attribute})
    return {
        "torch_version": catalog["torch"],
        "torch_name": name,
        "summary": module["summary"],
        "names": [item for item in module["typed"] if item not in submodules],
        "modules": modules[True],
        "unseen": modules[False],  # submodules that torch's own source does not import
    }
