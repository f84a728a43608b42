"""The report of an upgrade, as Markdown."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

from generator.errors import Decision
from generator.upgrade.changes import Changes

__all__ = ["report", "with_decided"]

_DECISIONS = re.compile(r"^## (?:Decisions|Decided): \d+\n\n((?:(?!## ).*\n)*)", re.MULTILINE)


def report(changes: Changes, decisions: Sequence[Decision], suggest: Callable[[str], str]) -> str:
    """Return the changes, what a person must decide first; ``suggest`` proposes what to write for a member."""
    lines = [f"# torch {changes.before} → {changes.after}", ""]
    if decisions:
        lines += [f"## Decisions: {len(decisions)}", ""]
        for decision in decisions:
            lines.append(f"- {decision.text}")
            if decision.lacks_route:
                lines.append(suggest(decision.member))
        lines.append("")
    lines += _section("Wrapped or routed, and changed or gone", changes.routed)
    lines += _section("Modules removed", changes.modules_removed)
    lines += _section("Modules added", changes.modules_added)
    lines += _section("Names removed", changes.removed)
    lines += _section("Names added", changes.added)
    lines += _signatures(changes)
    if len(lines) == 2:
        lines += ["Nothing that the mirror shows has changed.", ""]
    return "\n".join(lines)


def with_decided(text: str, earlier: str) -> str:
    """Return a report with what ``earlier`` ones of the same upgrade asked and this one does not ask any more."""
    if text.partition("\n")[0] != earlier.partition("\n")[0]:
        return text
    open_ = dict.fromkeys(_entries(text))
    decided = dict.fromkeys(entry for entry in _entries(earlier) if entry not in open_)
    if not decided:
        return text
    return f"{text.rstrip()}\n\n## Decided: {len(decided)}\n\n{''.join(decided)}"


def _entries(text: str) -> list[str]:
    """Return the decisions of a report, each with the lines below it."""
    sections = "".join(f"{found.rstrip()}\n" for found in _DECISIONS.findall(text))
    return re.findall(r"^- .*\n(?:(?!- ).*\n)*", sections, re.MULTILINE)


def _section(title: str, items: Iterable[str]) -> list[str]:
    listed = [f"- {item}" for item in items]
    return [f"## {title}: {len(listed)}", "", *listed, ""] if listed else []


def _signatures(changes: Changes) -> list[str]:
    """One entry for each set of edits, with all members that have it: one new annotation is in a hundred of them."""
    same: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, edits in changes.signatures:
        same[edits].append(name)
    if not same:
        return []
    lines = [f"## Changed signatures: {len(changes.signatures)}, in {len(same)} kinds", ""]
    for edits, names in sorted(same.items(), key=lambda item: (-len(item[1]), item[1])):
        lines.append(f"- {', '.join(names)}")
        lines += [f"  - `{edit}`" for edit in edits]
    return [*lines, ""]
