"""Make a page for each rule of the codemod, from its docstring and its cases.

A page holds what the rule says of itself, the examples (case files, before and after), the cases
that must not change, and what is reported. ``index.md`` lists the rules.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from tdev_core.codemod.embedded import rules as embedded
from tdev_core.codemod.engine.registry import RULES

__all__ = ["TARGET", "pages"]

ROOT = Path(__file__).resolve().parent.parent.parent
CASES = ROOT / "tests/codemod/cases"
TARGET = ROOT / "docs" / "codemod"
STYLES = ("explicit", "alias", "accelerator")
EXAMPLES = 4
UNTOUCHED = 2


def pages(command: str) -> dict[str, str]:
    """Return all pages by file name; the index names the ``command`` that writes them."""
    return render([(r.id, r.title, r.severity, r.doc) for r in (*RULES, *embedded.RULES)], command)


def render(every: list[tuple[str, str, str | None, str]], command: str) -> dict[str, str]:
    """Return the pages of rules that are given by id, title, severity and text."""
    found = {rule[0] + ".md": _page(rule) for rule in every}
    index = [
        "# Rules of the codemod",
        "",
        f"Written by `{command}` from the rules and their case files.",
        "",
        "| rule | what it is about | reports |",
        "| --- | --- | --- |",
    ]
    index += [
        f"| [{rule}]({rule}.md) | {title} | {severity or 'nothing'} |"
        for rule, title, severity, _ in every
    ]
    index += [
        "",
        "## What is left alone",
        "",
        "`# tdev: keep` at the end of a line keeps the statement on it; on a line of its own before",
        "the first statement of a file it keeps the file. Every rule respects it. So do marks that",
        "projects have of their own: `# ignore-cuda`, `# noqa: CUDA`, and what `keep` in `[tool.tdev]` lists.",
        "",
        "A project (what has a `pyproject.toml`, `setup.py` or `PKG-INFO` that describes a package) is left as a whole",
        "where too many of the places in it that name CUDA would stay: more than four, and one for each four that",
        "change. A package of kernels gains nothing from its seeds and streams. The run says so in its last line and",
        "lists each place; `--partial` (or `partial = true`) rewrites what can be rewritten. Files that are named on the command",
        "line, `--interactive` and `--since` are not held to it, nor is a project that imports tdev already.",
        "",
        "## What migrated code calls",
        "",
        "Beside the names that torch has, under tdev instead: `tdev.is_accelerator(x)`, a predicate",
        "that takes a device, a device type, a device string or a tensor. With `exact=True` it is asked",
        'as `x == "cuda"` was: only a string without an index can be the answer. The device literals',
        'stay `"cuda"` and are translated where they are used.',
        "",
    ]
    found["index.md"] = "\n".join(index)
    return found


def _page(rule: tuple[str, str, str | None, str]) -> str:
    name, title, severity, doc = rule
    parts = [f"# {title}", "", f"Rule `{name}`."]
    if severity is not None:
        parts[-1] += f" Its findings are of severity `{severity}` unless stated otherwise."
    parts += ["", doc, ""]
    changed, same = _cases(name)
    if changed:
        parts += ["## Before and after", ""]
        for path in changed[:EXAMPLES]:
            base = path.name.removesuffix(".in.py")
            before = path.read_text(encoding="utf-8")
            after = path.with_name(base + ".out.py").read_text(encoding="utf-8")
            parts += [f"### {_words(base)} ({path.parts[-3]} style)", ""]
            parts += ["```diff", *_diff(before, after), "```", ""]
            parts += _finds(path, base)
    if same:
        parts += ["## Left as it is", ""]
        for path in same[:UNTOUCHED]:
            base = path.name.removesuffix(".same.py")
            text = path.read_text(encoding="utf-8").rstrip("\n")
            parts += [f"### {_words(base)}", "", "```python", text, "```", ""]
            parts += _finds(path, base)
    return "\n".join(parts).rstrip("\n") + "\n"


def _cases(rule: str) -> tuple[list[Path], list[Path]]:
    """Return the rule's cases that show most: changed ones over the styles in turn, then unchanged ones."""
    changed: list[Path] = []
    same: list[Path] = []
    by_style = [sorted((CASES / style / rule).glob("*.in.py")) for style in STYLES]
    for index in range(max((len(c) for c in by_style), default=0)):
        changed += [found[index] for found in by_style if index < len(found)]
    for style in STYLES:
        for path in sorted((CASES / style / rule).glob("*.same.py")):
            if path.name not in {p.name for p in same}:
                same.append(path)
    if rule in ("is-cuda", "comparison"):  # the questions that are asked most come first
        changed.sort(key=lambda p: "device_type" not in p.name and "known" not in p.name)
    same.sort(key=lambda p: not p.with_name(p.name.replace(".same.py", ".finds")).exists())
    return changed, same


def _diff(before: str, after: str) -> list[str]:
    lines = difflib.ndiff(before.splitlines(), after.splitlines())
    return [
        line[:1] + line[2:] if line[2:] else line[:1].strip() for line in lines if line[0] != "?"
    ]


def _finds(path: Path, base: str) -> list[str]:
    listed = path.with_name(base + ".finds")
    if not listed.exists():
        return []
    lines = listed.read_text(encoding="utf-8").splitlines()
    return ["Reported:", "", "```text", *lines, "```", ""]


def _words(name: str) -> str:
    return name.replace("_", " ").capitalize()
