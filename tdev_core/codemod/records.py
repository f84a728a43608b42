"""Turns the engine's edits and findings into the records that are shown and reported.

Each gets the name of what it is about, read off the text at its place: `torch.cuda.Stream` where the edit
replaces `torch`, and the function, package or literal that a finding stands at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tdev_core.codemod.engine import IMPORT_RULES, Edit, Finding
from tdev_core.codemod.model import Change, Place, Remark

_RESTS = "runs on CUDA alone until the imports of this file are rewritten"
_DOTTED = re.compile(r"[\w.]+")
_BEFORE = re.compile(r"[\w.]*$")
_AFTER = re.compile(r"(?:\.\w+)*")
_IMPORT = re.compile(r"(?:from|import)\s+([\w.]+)")
_KEYWORD = re.compile(
    r"(?:(?:if|elif|while|assert|return|not|with|async|await|del|raise|def|class)\b|@|\()\s*"
)
_LITERAL = re.compile(r"""[A-Za-z]{0,2}(?:'[^'\n]{1,60}'|"[^"\n]{1,60}")""")
_NAME = re.compile(r"[A-Za-z_]\w*(?:\.\w+|(?:\[[^][\n]{1,40}\])+(?=\.))*")


def change(edit: Edit, rows: Sequence[str], cell: int | None = None) -> Change:
    """Return an edit of a text with these lines as a change, in a notebook cell where one is given."""
    place = Place(edit.line, edit.column, edit.end_line, edit.end_column, cell)
    name = becomes = ""
    if _DOTTED.fullmatch(edit.before) and _DOTTED.fullmatch(edit.after) and edit.line <= len(rows):
        row = rows[edit.line - 1]
        found = _BEFORE.search(row[: edit.column - 1])
        before = found.group() if found else ""
        after = _AFTER.match(row, edit.end_column - 1)
        name, becomes = (
            before + text + (after.group() if after else "") for text in (edit.before, edit.after)
        )
    return Change(edit.rule, place, edit.before, edit.after, name, becomes, edit.why)


def remark(finding: Finding, rows: Sequence[str], cell: int | None = None) -> Remark:
    """Return a finding in a text with these lines as a remark, in a notebook cell where one is given."""
    place = Place(finding.line, finding.column, finding.line, finding.column, cell)
    named = finding.line <= len(rows) and not finding.whole
    name = _name(rows[finding.line - 1], finding.column - 1) if named else ""
    return Remark(finding.rule, place, finding.message, finding.severity, name)


def resting(
    places: Sequence[tuple[int, int]], rows: Sequence[str], cell: int | None = None
) -> tuple[Remark, ...]:
    """Return a remark for each place that is right only once the imports are rewritten."""
    findings = (Finding(IMPORT_RULES[-1], *place, _RESTS, "warning") for place in places)
    return tuple(remark(finding, rows, cell) for finding in findings)


def _name(row: str, at: int) -> str:
    """Return the imported module, the literal or the dotted name that starts there; empty for others."""
    if imported := _IMPORT.match(row, at):
        return imported[1]
    while skipped := _KEYWORD.match(row, at):
        at = skipped.end()
    found = _LITERAL.match(row, at) or _NAME.match(row, at)
    return found.group() if found else ""
