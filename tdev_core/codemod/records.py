"""Turns the engine's edits and findings into the records that are shown and reported."""

from __future__ import annotations

from tdev_core.codemod.engine import Edit, Finding
from tdev_core.codemod.model import Change, Place, Remark


def change(edit: Edit, cell: int | None = None) -> Change:
    """Return an edit as a change, in a notebook cell where one is given (from 1)."""
    place = Place(edit.line, edit.column, edit.end_line, edit.end_column, cell)
    return Change(edit.rule, place, edit.before, edit.after)


def remark(finding: Finding, cell: int | None = None) -> Remark:
    """Return a finding as a remark, in a notebook cell where one is given (from 1)."""
    place = Place(finding.line, finding.column, finding.line, finding.column, cell)
    return Remark(finding.rule, place, finding.message, finding.severity, finding.docs)
