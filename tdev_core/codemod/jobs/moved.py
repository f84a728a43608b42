"""Finds where a place of the old text lies in the new one, after changes before it were made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tdev_core.codemod.model import Change, Place, Remark


def after(changes: Sequence[Change], remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """``remarks`` at the places that their lines have once ``changes`` are made."""
    return tuple(replace(r, place=_moved(r.place, changes)) for r in remarks)


def _moved(place: Place, changes: Sequence[Change]) -> Place:
    line, column = place.line, place.column
    for change in changes:
        at = change.place
        if at.cell != place.cell or (at.end_line, at.end_column) > (place.line, place.column):
            continue
        line += change.after.count("\n") - (at.end_line - at.line)
        if at.end_line == place.line:
            tail = len(change.after.rpartition("\n")[2])
            if "\n" in change.after:  # what stood before it stays on another line
                column = place.column + 1 + tail - at.end_column
            else:
                column += at.column + tail - at.end_column
    return Place(line, column, line, column, place.cell)
