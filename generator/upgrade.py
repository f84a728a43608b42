"""``python -m generator.upgrade``: regenerate against the installed torch, and say what that changes.

The facts of the installed torch are compared with ``catalog.json`` as it was. Then the generator runs;
where it stops, a person has to decide a route, and the files stay as they were.

Exit status: 0 nothing needs a person; 1 somebody must look; 2 an error.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from typing import Any

from generator import catalog as catalog_file
from generator import paths
from generator.__main__ import main as generate
from generator.errors import GenerationError
from generator.facts import introspect
from generator.facts.model import Facts, Signature
from generator.facts.pin import FactsError
from generator.plan.routes import Routes, read_routes

__all__ = ["Changes", "compare", "main", "report"]

Catalog = Mapping[str, Any]


@dataclass(frozen=True)
class Changes:
    """The names that another torch has, lacks and spells differently; every list sorted.

    Attributes:
        before: version of the torch that the catalog was made from.
        after: version of the installed one.
        added: new public members; ``removed`` the ones that are gone.
        modules_added: new public modules; ``modules_removed`` the ones that are gone.
        signatures: members whose signature changed, with the old and the new one.
        routed: those of ``removed`` and ``signatures`` that the mirror wraps or routes.
        decisions: curated entries that name something torch no longer has.
    """

    before: str
    after: str
    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    modules_added: list[str] = field(default_factory=list)
    modules_removed: list[str] = field(default_factory=list)
    signatures: list[tuple[str, str, str]] = field(default_factory=list)
    routed: list[str] = field(default_factory=list)
    decisions: list[str] = field(default_factory=list)


def compare(before: Catalog, facts: Facts, routes: Routes) -> Changes:
    """Return the changes from the torch of the catalog ``before`` to that of ``facts``."""
    # Private names are in the catalog where they are routed; the facts are about public ones.
    old = {name: row for name, row in before["members"].items() if not _is_private(name)}
    new = {member.name: member for member in facts.members}
    removed = sorted(old.keys() - new.keys())
    changed = []
    for name in sorted(old.keys() & new.keys()):
        was = _text(_rows(old[name]["signatures"]))
        now = _text(_signature(signature) for signature in new[name].signatures)
        if was != now:
            changed.append((name, was, now))
    wrapped = {name for name, row in old.items() if row["mirror"] != "same"}
    modules = {module.name for module in facts.modules if module.error is None}
    return Changes(
        before["torch"],
        facts.torch,
        sorted(new.keys() - old.keys()),
        removed,
        sorted(modules - before["modules"].keys()),
        sorted(before["modules"].keys() - modules),
        changed,
        sorted(wrapped & {*removed, *(name for name, _, _ in changed)}),
        _decisions(facts, routes),
    )


def _decisions(facts: Facts, routes: Routes) -> list[str]:
    exports = {path for member in facts.members for path in member.exports}
    exports |= {module.name for module in facts.modules}
    found = [
        f"{capability.where}: torch {facts.torch} has no {spelling}"
        for capability in routes.capabilities
        for spelling in capability.spellings
        if spelling not in exports and not _is_private(spelling)
    ]
    found += [
        f"{route.where}: torch {facts.torch} has no {dotted}"
        for dotted, route in routes.devices.items()
        if dotted not in exports
    ]
    return sorted(found)


def _is_private(dotted: str) -> bool:
    return dotted.rpartition(".")[2].startswith("_")


def _rows(signatures: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for signature in signatures:
        yield _line(
            [
                (p["name"], p["kind"], p["default"], p["annotation"])
                for p in signature["parameters"]
            ],
            signature["returns"],
        )


def _signature(signature: Signature) -> str:
    parameters = [(p.name, p.kind, p.default, p.annotation) for p in signature.parameters]
    return _line(parameters, signature.returns)


def _line(
    parameters: Iterable[tuple[str, str, str | None, str | None]], returns: str | None
) -> str:
    parts = []
    starred = False
    for name, kind, default, annotation in parameters:
        star = {"var_positional": "*", "var_keyword": "**"}.get(kind, "")
        if kind == "keyword_only" and not starred:
            parts.append("*")
        starred = starred or kind in ("keyword_only", "var_positional")
        part = f"{star}{name}" + (f": {annotation}" if annotation else "")
        parts.append(part + (f" = {default}" if default is not None else ""))
    return f"({', '.join(parts)})" + (f" -> {returns}" if returns else "")


def _text(signatures: Iterable[str]) -> str:
    return " | ".join(sorted(signatures))


def report(changes: Changes, stopped: str = "") -> str:
    """Return the changes as Markdown; ``stopped`` is why the generator wrote nothing."""
    lines = [f"# torch {changes.before} → {changes.after}", ""]
    decisions = [*changes.decisions, *([stopped] if stopped else [])]
    lines += _section("Routes that need a decision", decisions)
    lines += _section("Wrapped or routed, and changed or gone", changes.routed)
    lines += _section("Modules removed", changes.modules_removed)
    lines += _section("Modules added", changes.modules_added)
    lines += _section("Names removed", changes.removed)
    lines += _section("Names added", changes.added)
    lines += _section(
        "Changed signatures",
        [
            f"{name}\n  - was {was or '()'}\n  - is {now or '()'}"
            for name, was, now in changes.signatures
        ],
    )
    if len(lines) == 2:
        lines += ["Nothing that the mirror shows has changed.", ""]
    return "\n".join(lines)


def _section(title: str, items: list[str]) -> list[str]:
    if not items:
        return []
    return [f"## {title}: {len(items)}", "", *(f"- {item}" for item in items), ""]


def needs_a_person(changes: Changes, stopped: str) -> bool:
    """Tell whether somebody must look: something that people or routes rely on is gone or different."""
    return bool(
        stopped or changes.decisions or changes.routed or changes.removed or changes.modules_removed
    )


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m generator.upgrade", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="report only; write nothing")
    options = parser.parse_args(argv)
    try:
        before = catalog_file.read(paths.CATALOG)
        routes = read_routes(paths.ROUTES)
        changes = compare(before, introspect(allow_version=True), routes)
    except (GenerationError, FactsError) as error:
        print(f"generator.upgrade: {error}", file=sys.stderr)
        return 2
    stopped = ""
    if not options.dry_run:
        told = io.StringIO()
        with redirect_stderr(told), redirect_stdout(io.StringIO()):
            if generate(["--allow-version"]):
                stopped = told.getvalue().strip().removeprefix("generator: ")
    print(report(changes, stopped))
    if stopped:
        print("Nothing was written. Decide the routes above, then run this again.")
    elif changes.before != changes.after:
        print(
            f"Set PINNED in generator/facts/pin.py and the version in constraints.txt to "
            f"{changes.after} once the tests pass."
        )
    return 1 if needs_a_person(changes, stopped) else 0


if __name__ == "__main__":
    sys.exit(main())
