"""Leaves a project as it is where too much of it would go on needing CUDA: half a migration helps nobody.

A maintainer merges what gives a project other devices. Where kernels, capabilities and packages of CUDA stay at every
turn, the seeds and streams between them are rewritten for nothing; there the findings are what helps, and
``--partial`` rewrites what can be rewritten all the same. Scripts and notebooks that belong to no project are judged by nothing
but themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tdev_core.codemod.embedded.notebooks import INSTALL_TOO
from tdev_core.codemod.engine import IMPORT_RULES
from tdev_core.codemod.files.discovery import Found
from tdev_core.codemod.files.project import project_of
from tdev_core.codemod.model import Change, Kind, Outcome, Remark, Status

Item = tuple[Found, Outcome, "bytes | None"]

_ANY_PROJECT, _CHANGES_FOR_ONE = 4, 4
"""What may stay in any project, and how many changes make up for one more that does.

Read off 116 released projects, whose hunks maintainers' eyes had accepted or refused one by one: beyond this, every second one
was refused.
"""

_ADOPTED = {
    # In a notebook, a line is a string of JSON.
    "tdev": re.compile(rb"^[ \t]*\"?[ \t]*(?:import|from)[ \t]+tdev\b", re.MULTILINE),
    "accelerator": re.compile(rb"\btorch\.accelerator\."),
}
_TELL_NOTHING = frozenset(
    {"test", "doctest", "other-file", "notebook-magic", "notebook-syntax", "no-difference"}
)
"""Rules of what stays whatever becomes of the project."""


@dataclass
class _Count:
    """The places of a project that name CUDA: those that would change or be answered, and those that stay."""

    changed: int = 0
    stay: int = 0
    adopted: bool = False
    """Whether the project has what the run writes: it has decided, and what is new in it is migrated."""

    @property
    def is_left(self) -> bool:
        """Whether the project is left as it is."""
        most = _ANY_PROJECT + self.changed / _CHANGES_FOR_ONE
        return bool(self.changed) and not self.adopted and self.stay > most


def decided(items: Iterable[Item], directories: Sequence[Path], target: str) -> Iterator[Item]:
    """Yield what came of each file, once all are known; those of a project that is left change nothing.

    Files that were named themselves are nobody's part.

    Args:
        directories: those that the run was given.
        target: the run's setting.
    """
    known = [(item, None if item[0].named else project_around(item[0])) for item in items]
    counts: dict[Path, _Count] = {}
    for (found, outcome, raw), project in known:
        if project is None or found.kind is Kind.OTHER:
            continue
        count = counts.setdefault(project, _Count())
        own = [change for change in outcome.changes if change.rule not in IMPORT_RULES]
        # What a new import answers for needs no change of its own: `x.cuda()`.
        count.changed += len(own) + (len(outcome.resting) if outcome.changes else 0)
        if found.kind is not Kind.DOCS:
            count.stay += sum(remark.rule not in _TELL_NOTHING for remark in outcome.remarks)
            has = raw is not None and _ADOPTED[target].search(raw) is not None
            count.adopted = count.adopted or has
    said = {
        project: _said(project, count, directories)
        for project, count in counts.items()
        if count.is_left
    }
    for (found, outcome, raw), project in known:
        if project in said and outcome.status is Status.CHANGED:
            outcome = _left(outcome, said[project])
        yield found, outcome, raw


def project_around(found: Found) -> Path | None:
    """Return the root of the project that a file belongs to; None for one that belongs to none."""
    return project_of(found.path.absolute().parent)


def _said(project: Path, count: _Count, directories: Sequence[Path]) -> str:
    root = project.resolve()
    whole = any(given == root or given in root.parents for given in directories)
    of_all = f"{count.stay + count.changed:,} places {'in it' if whole else 'looked at'}"
    return (
        f"{_called(root)} is left as it is: {count.stay:,} of the {of_all} that name CUDA stay CUDA's "
        f"(--partial rewrites the other {count.changed:,})."
    )


def _called(root: Path) -> str:
    """Return what tells a project from others: its path from the working directory, or the name of that."""
    try:
        below = root.relative_to(Path.cwd().resolve())
    except ValueError:
        return str(root)
    return str(below) if below.parts else root.name


def _left(outcome: Outcome, message: str) -> Outcome:
    """Return what is told of a file that would change; what its imports would have answered is told as well."""
    told = [_told(change) for change in outcome.changes if change.rule not in IMPORT_RULES]
    remarks = [remark for remark in outcome.remarks if remark.message != INSTALL_TOO]
    return Outcome(
        Status.UNCHANGED, message, remarks=(*remarks, *outcome.resting, *told), left=message
    )


def _told(change: Change) -> Remark:
    return Remark(
        change.rule,
        change.place,
        f"{change.message} with --partial",
        "warning",
        change.name or change.before,
    )
