"""Records what is known about a file after the codemod looked at it.

Everything here is frozen and picklable: the records are made in worker processes and read in the
main one. Lines and columns are counted from 1, columns in code points, as editors count them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

SEVERITIES = ("error", "warning", "note")
"""From worst to mildest; a ``note`` informs and never makes a run fail."""


class Kind(str, Enum):
    """The kinds of files, by how their bytes are to be understood."""

    PYTHON = "python"
    NOTEBOOK = "notebook"
    DOCS = "docs"
    OTHER = "other"
    """No Python: looked at, never rewritten, and counted apart."""


class Status(str, Enum):
    """The ways in which a file can come out of a run."""

    UNCHANGED = "unchanged"
    CHANGED = "changed"
    SKIPPED = "skipped"
    ERROR = "error"


@dataclass(frozen=True)
class Place:
    """A span of a file; ``cell`` is the notebook cell (from 1) that the lines are counted in."""

    line: int
    column: int
    end_line: int
    end_column: int
    cell: int | None = None

    def __str__(self) -> str:
        cell = "" if self.cell is None else f"cell {self.cell}:"
        return f"{cell}{self.line}:{self.column}"


@dataclass(frozen=True)
class Change:
    """One span that the codemod rewrites: ``before`` is the source text, ``after`` what replaces it.

    ``name`` is the whole name that the span is a part of, and ``becomes`` what that is afterwards; both
    are empty where it is no name.
    """

    rule: str
    place: Place
    before: str
    after: str
    name: str = ""
    becomes: str = ""
    why: str = ""

    @property
    def message(self) -> str:
        """One line saying what is rewritten into what, and why where the name does not tell."""
        return f"{self._what} ({self.why})" if self.why else self._what

    @property
    def _what(self) -> str:
        before, after = _one_line(self.name or self.before), _one_line(self.becomes or self.after)
        if not before:
            return f"add `{after}`"
        if not after:
            return f"remove `{before}`"
        return f"`{before}` becomes `{after}`"


@dataclass(frozen=True)
class Remark:
    """Something a person has to look at; ``name`` is the function or literal that it is about, or empty."""

    rule: str
    place: Place
    message: str
    severity: str
    name: str = ""

    @property
    def said(self) -> str:
        """The message, behind the name of what it is about where it does not say that itself."""
        if not self.name or re.search(rf"(?<!\w){re.escape(self.name)}(?!\w)", self.message):
            return self.message
        return f"`{self.name}`: {self.message}"


@dataclass(frozen=True)
class Outcome:
    """The result of rewriting one file's bytes; ``new`` is what a changed file is to hold."""

    status: Status
    message: str = ""
    new: bytes | None = None
    changes: tuple[Change, ...] = ()
    remarks: tuple[Remark, ...] = ()
    resting: tuple[Remark, ...] = ()
    """What no change touches and is right only once the imports are changed: told where these are not."""
    left: str = ""
    """Why a file that would change is left as it is, with the project that it belongs to."""

    def __post_init__(self) -> None:
        if self.new is not None and self.status is not Status.CHANGED:
            raise ValueError(f"an outcome that is {self.status.value} and has new bytes")


@dataclass(frozen=True)
class FileResult:
    """The outcome for the file shown to the user as ``path``; ``old`` is what was read, where it matters."""

    path: str
    outcome: Outcome
    old: bytes | None = None
    written: bool = False
    """Whether the file holds the new text by now: its lines are then those after the changes."""
    other: bool = False
    """Whether the file is of the kind ``other``."""

    @property
    def remarks(self) -> tuple[Remark, ...]:
        """The remarks at the places that they have in the file as it is now."""
        if not self.written:
            return self.outcome.remarks
        changes = self.outcome.changes
        return tuple(replace(r, place=moved(r.place, changes)) for r in self.outcome.remarks)

    @property
    def status(self) -> Status:
        """The status of the outcome."""
        return self.outcome.status

    def light(self) -> FileResult:
        """Return the same without the file's bytes, to be kept for a report."""
        return replace(self, old=None, outcome=replace(self.outcome, new=None))

    def items(self, *, changes: bool = True) -> list[Change | Remark]:
        """List what is to be said about the file, in the order of its lines."""
        said: list[Change | Remark] = [*self.remarks]
        if changes:
            said += self.outcome.changes
        return sorted(said, key=lambda i: (i.place.cell or 0, i.place.line, i.place.column, i.rule))

    def failed(self, message: str) -> FileResult:
        """Return the same file, with an error instead of a change (what was found in it still holds)."""
        return replace(
            self, outcome=replace(self.outcome, status=Status.ERROR, message=message, new=None)
        )


def moved(place: Place, changes: Sequence[Change]) -> Place:
    """Return where a place of the old text lies once ``changes`` (in order) are made."""
    line, column = _moved(place.line, place.column, place.cell, changes)
    if (place.end_line, place.end_column) == (place.line, place.column):
        return Place(line, column, line, column, place.cell)
    end_line, end_column = _moved(place.end_line, place.end_column, place.cell, changes)
    return Place(line, column, end_line, end_column, place.cell)


def new_place(change: Change, changes: Sequence[Change]) -> Place:
    """Return the span that what ``change`` writes has once all ``changes`` are made."""
    at = change.place
    before = [c for c in changes if c is not change and _ends(c) <= (at.line, at.column)]
    line, column = _moved(at.line, at.column, at.cell, before)
    head, newline, tail = change.after.rpartition("\n")
    if newline:
        return Place(line, column, line + head.count("\n") + 1, len(tail) + 1, at.cell)
    return Place(line, column, line, column + len(tail), at.cell)


def _ends(change: Change) -> tuple[int, int]:
    return change.place.end_line, change.place.end_column


def _moved(
    old_line: int, old_column: int, cell: int | None, changes: Sequence[Change]
) -> tuple[int, int]:
    line, column = old_line, old_column
    for change in changes:
        at = change.place
        if at.cell != cell or _ends(change) > (old_line, old_column):
            continue
        line += change.after.count("\n") - (at.end_line - at.line)
        if at.end_line == old_line:
            tail = len(change.after.rpartition("\n")[2])
            if "\n" in change.after:  # what stood before it stays on another line
                column = old_column + 1 + tail - at.end_column
            else:
                column += at.column + tail - at.end_column
    return line, column


def _one_line(text: str) -> str:
    """``text`` with every run of white space made one space, cut to a readable length."""
    flat = " ".join(text.split())
    return flat if len(flat) <= 80 else flat[:77] + "..."
