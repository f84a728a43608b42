"""Views: plain dictionaries that templates get to see, cut out of the catalog."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from typing import Any

from generator.errors import GenerationError
from generator.render.answers import Answers
from generator.render.stubs import Stubs

__all__ = ["module_view", "root_view"]


def module_view(
    name: str, catalog: dict[str, Any], answers: Answers, helpers: frozenset[str]
) -> dict[str, Any]:
    """Return the view of one mirror module; ``helpers`` are names that torch only re-exports."""
    mirror = catalog["mirrors"][name]
    definitions = mirror["definitions"]
    _refuse_unlike_objects(definitions)
    return {
        "torch_version": catalog["range"],
        "torch_name": name,
        "imports": _imports(mirror, catalog["core"]),
        "any": any(
            "Any" in row["signature"] or _is_declared(row) for row in _all_forms(definitions)
        ),
        **_reaches(name, _all_forms(definitions)),
        "early": _early(name, mirror),
        **{key: mirror[key] for key in ("home", "asked", "elsewhere", "seen")},
        "routed": [row["name"] for row in definitions],
        "objects": _objects([row for row in definitions if row["kind"] == "bound"]),
        "answers": {
            row["name"]: [json.dumps(line, ensure_ascii=False) for line in said]
            for row in definitions
            if row["kind"] == "bound" and (said := answers.of(row["torch_name"]))
        },
        "functions": [
            {"only": row["only"], "forms": _forms(row, answers)}
            for row in definitions
            if row["kind"] != "bound"
        ],
        "some": {
            item: text
            for item, text in mirror["partial"].items()
            if f"{name}.{item}" not in helpers
        },
        "script": {row["name"]: row["script"] for row in definitions if row["script"]},
    }


def _forms(row: dict[str, Any], answers: Answers) -> list[dict[str, Any]]:
    """Return a function as the newest torches need it, then as older ones do, each with the first torch that does.

    The last serves all that are left.
    """
    doc = _docstring(row["torch_name"], row["summary"], answers)
    forms = [row, *row["older"]]
    firsts = [older["before"] for older in row["older"]]
    return [
        {**form, "doc": doc, "first": first}
        for form, first in zip(forms, [*firsts, None], strict=True)
    ]


def _all_forms(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [form for row in rows for form in (row, *row["older"])]


def _reaches(name: str, rows: list[dict[str, Any]]) -> dict[str, bool]:
    """Tell whether the code of a mirror names torch, and its torch module by attributes."""
    sources = [f"def f{row['signature'] or '()'}: ..." for row in rows]
    for row in rows:
        for arm in row["arms"]:
            sources.append("def f():\n" + "\n".join(f"    {line}" for line in arm["body"]))
    nodes = [node for source in sources for node in ast.walk(ast.parse(source))]
    return {
        "torch": any(isinstance(node, ast.Name) and node.id == "torch" for node in nodes),
        "itself": any(
            isinstance(node, ast.Attribute) and ast.unparse(node) == name for node in nodes
        ),
    }


def _refuse_unlike_objects(rows: list[dict[str, Any]]) -> None:
    unlike = [row["torch_name"] for row in rows if row["kind"] == "bound" and row["older"]]
    if unlike:
        raise GenerationError(
            f"{', '.join(unlike)}: a class or value that torches need otherwise cannot be emitted; let the object of its "
            "route be one for all."
        )


def _is_declared(row: dict[str, Any]) -> bool:
    """Tell whether a class or value is assigned in several arms, and so declared before them."""
    return row["kind"] == "bound" and len(row["arms"]) > 1


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
    """Tell whether a default value is read from the torch module before the mirror adopts it."""
    return any(f"= {name}." in row["signature"] for row in _all_forms(mirror["definitions"]))


_WIDTH = 96


def _docstring(torch_name: str, summary: str, answers: Answers) -> str:
    """Return the docstring of an emitted function: what it does, on one line if that fits, and what each backend does."""
    end = answers.docstring(torch_name, _WIDTH)
    end = f"\n\n{end}\n    " if end else ""
    text = _plain(summary).replace("\\", "\\\\").replace('"', "'")
    line = f"Mirror of ``{torch_name}``" + (f": {text}" if text else ".")
    if len(line) <= 88:
        return f"{line}{end}"
    rest = textwrap.fill(
        text, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_long_words=False
    )
    return f"Mirror of ``{torch_name}``.\n\n{rest}" + (end or "\n    ")


def _plain(summary: str) -> str:
    """Return a summary without Sphinx roles: ``:attr:`x` `` becomes ``x`` in double backquotes."""
    return re.sub(r":\w+:`~?([^`<]*?)(?: <[^`]*)?`", r"``\1``", summary)


_TRANSLATORS = (
    "here",
    "translate",
    "translate_apart",
    "translate_each",
    "translate_type",
    "unpinned",
)
_ADDED = {  # what tdev's root offers beside torch's names, and where it is from
    "DeviceWarning": "errors",
    "FallbackWarning": "errors",
    "UnsupportedError": "errors",
    "answers_cuda": "devices",
    "device_type": "backend",
    "is_accelerator": "devices",
    "report": "report",
}


def _imports(mirror: dict[str, Any], core: dict[str, str]) -> list[dict[str, str]]:
    """Return what a mirror imports from ``tdev_core``: its modules and names, sorted, with an underscore each.

    The underscore keeps them apart from torch's names.
    """
    rows = _all_forms(mirror["definitions"])
    text = "\n".join(line for row in rows for arm in row["arms"] for line in arm["body"])
    matches = any(len(row["arms"]) > 1 for row in rows)
    names = {f"{core['devices']}.{name}" for name in _TRANSLATORS if f"_{name}(" in text}
    if mirror["home"] or matches:
        names.add(f"{core['backend']}.Backend")
    if matches:
        names.add(f"{core['backend']}.{mirror['asked']}")
    if any(row["older"] for row in mirror["definitions"]):
        names.add(f"{core['release']}.torch_release")
    if "_unsupported(" in text:
        names.add(f"{core['backend']}.unsupported")
    found = {_split(dotted) for dotted in (core["adoption"], *mirror["modules"], *names)}
    return [{"from": home, "name": name, "as": f"_{name}"} for home, name in sorted(found)]


def _place(row: dict[str, str]) -> tuple[str, str]:
    return row["from"], row["name"]


def _split(dotted: str) -> tuple[str, str]:
    home, _, name = dotted.rpartition(".")
    return home, name


def _own(catalog: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the modules with a file of their own: first those on every torch, then those from a release on."""
    groups: dict[tuple[int, ...], list[str]] = {(): []}
    for name, mirror in catalog["mirrors"].items():
        if name != "torch":
            groups.setdefault(tuple(mirror["since"]), []).append("tdev" + name[len("torch") :])
    return [{"since": list(key), "names": sorted(groups[key])} for key in sorted(groups)]


def root_view(
    catalog: dict[str, Any], stubs: Stubs, answers: Answers, helpers: frozenset[str]
) -> dict[str, Any]:
    """Return the view of the templates that are not per module: the root, the tools, the list of shims."""
    core = catalog["core"]
    added = [{"from": core[home], "name": name, "as": name} for name, home in _ADDED.items()]
    added.sort(key=_place)
    view = module_view("torch", catalog, answers, helpers)
    early = [_split(core["calls"]), _split(core["launch"])]  # before torch itself
    # Functions say it at the top, also where the codemod alone is wanted and there may be no torch.
    always = [_split(f"{core['release']}.torch_release")]
    late = [row for row in view["imports"] if _place(row) not in (*early, *always)]
    return {
        **view,
        **stubs.view("torch"),
        "imports": sorted(late + added, key=_place),
        "early_imports": [{"from": home, "name": name, "as": f"_{name}"} for home, name in early],
        "release_imports": [row for row in view["imports"] if _place(row) in always],
        "added": added,
        "own": _own(catalog),
        "shims": catalog["shims"],
    }
