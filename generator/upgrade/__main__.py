"""``python -m generator.upgrade``: regenerate with a torch that was recorded, and say what that changes.

The facts of the newest torch that ``catalog.json`` does not have yet (``python -m generator.facts --torch 2.16.0``
records them) are compared with the newest one that it has; without such a torch, the installed one with what the
catalog says of it. Then all is planned; where routes lack
something, every decision is listed at once, with what to write, and the files stay as they were. The report is saved
as ``build/upgrade.md``; when all has been written, a second run shows it again.

Exit status: 0 all is written; 1 a person must decide; 2 an error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import Any

from generator import catalog as catalog_file
from generator import paths, union
from generator.__main__ import write
from generator.errors import Decision, GenerationError, Undecided
from generator.facts import introspect
from generator.facts.model import Facts
from generator.facts.pin import PINNED, FactsError, installed_version
from generator.plan.all_torches import all_facts
from generator.plan.evidence import read_evidence
from generator.plan.plan import plan_each, plan_one
from generator.plan.routes import Routes, read_routes
from generator.upgrade.changes import compare
from generator.upgrade.mentions import mention
from generator.upgrade.report import report, with_decided
from generator.upgrade.suggestions import suggestion

__all__ = ["main"]

_SAVED = paths.ROOT / "build" / "upgrade.md"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m generator.upgrade", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="report only; write nothing")
    parser.add_argument(
        "--pin",
        action="store_true",
        help="set the installed torch where the pinned version stands, and no more",
    )
    options = parser.parse_args(argv)
    try:
        return _pin() if options.pin else _upgrade(options.dry_run)
    except (GenerationError, FactsError) as error:
        print(f"generator.upgrade: {error}", file=sys.stderr)
        return 2


def _upgrade(dry_run: bool) -> int:
    before = catalog_file.read(paths.CATALOG)
    routes = read_routes(paths.ROUTES)
    evidence = read_evidence(paths.EVIDENCE)
    every = all_facts() if installed_version() == PINNED else [introspect(allow_version=True)]
    facts, old = _subject(before, every)
    changes = compare(old, facts)
    decisions: tuple[Decision, ...] = ()
    catalog: dict[str, Any] = {}
    try:
        if every[0].torch == PINNED:
            catalog = union.join(plan_each(every, routes, evidence, paths.CORE), PINNED)
        else:
            plan_one(facts, routes, evidence, paths.CORE)
    except Undecided as error:
        decisions = error.decisions
    text = report(changes, decisions, lambda name: _suggest(name, [facts, *every], routes))
    earlier = "" if decisions else _earlier(changes.before, changes.after)
    print(earlier or text)
    if earlier:
        print("That is the report of the run that wrote all of it.")
    elif not dry_run:
        _SAVED.parent.mkdir(exist_ok=True)
        before_this = _SAVED.read_text(encoding="utf-8") if _SAVED.is_file() else ""
        _SAVED.write_text(with_decided(text, before_this), encoding="utf-8")
        print(f"Saved as {_SAVED.relative_to(paths.ROOT)}.")
    if decisions:
        print("Nothing was written. Decide what is listed, then run this again.")
        return 1
    if not catalog:
        print(
            f"Nothing was written: torch {PINNED} is pinned. Install it, and record this one there:"
        )
        print(f"python -m generator.facts --torch {facts.torch}")
    elif not dry_run:
        print("\n".join(write(catalog)))
        for path in mention(union.torches(catalog)):
            print(f"{path}: names torch {', '.join(union.torches(catalog))} now")
    return 0


def _subject(before: dict[str, Any], every: list[Facts]) -> tuple[Facts, dict[str, Any]]:
    """Return the facts that the report is about, and the catalog to compare them with.

    They are those of the newest torch that the catalog does not have yet, and its newest one; or what the installed
    torch was and is.
    """
    known = before.get("torches", [before["torch"]])
    new = [facts for facts in every if facts.torch not in known]
    if new and "torches" in before:
        return max(new, key=lambda facts: union.release(facts.torch)), union.view(before, known[-1])
    return every[0], union.view(before, every[0].torch)


def _pin() -> int:
    """Write the version of the installed torch in place of the pinned one."""
    new = installed_version()
    if new == PINNED:
        print(f"torch {new} is pinned already.")
        return 0
    short, newer = union.short(PINNED), union.short(new)
    for path, before, after in (
        (paths.ROOT / "generator" / "facts" / "pin.py", f'"{PINNED}"', f'"{new}"'),
        (paths.ROOT / "constraints.txt", f"torch=={PINNED}", f"torch=={new}"),
        (
            paths.ROOT / "CHANGELOG.md",
            f"(unreleased), torch {short}\n",
            f"(unreleased), torch {newer}\n",
        ),
    ):
        text = path.read_text(encoding="utf-8")
        if before not in text:
            raise GenerationError(
                f"{path.name} does not say {before.strip()!r}; set {new} there by hand."
            )
        path.write_text(text.replace(before, after, 1), encoding="utf-8")
        print(f"{path.relative_to(paths.ROOT)}: {after.strip()}")
    return 0


def _earlier(before: str, after: str) -> str:
    """Return the saved report that led to the torch of today's catalog; it has nothing more to tell by itself."""
    if before != after or not _SAVED.is_file():
        return ""
    text = _SAVED.read_text(encoding="utf-8")
    title = text.partition("\n")[0]
    led_here = title.endswith(f" → {after}") and not title.startswith(f"# torch {after} ")
    return text if led_here else ""


def _suggest(name: str, every: Iterable[Facts], routes: Routes) -> str:
    """Return what to write for a name, as the first of the torches that has it tells of it: it need not be a new one."""
    member = next(member for facts in every for member in facts.members if member.name == name)
    return suggestion(member, routes.capabilities, routes.scope)


if __name__ == "__main__":
    sys.exit(main())
