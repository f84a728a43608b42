"""Folds what a run found by rule and file, what one can act on first: a screen, however large the tree.

A run that found little lists it; ``--verbose`` lists all.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tdev_core.codemod.model import Change, Remark
from tdev_core.codemod.output.about import title

LISTED = 40
"""As many findings are listed one by one."""
_FILES, _MESSAGES, _WIDTH = 3, 3, 110
_INDENT = " " * 10
_HEADS = {
    "change": ("Rewritten", "To rewrite (the codemod does it)"),
    "warning": ("For you to decide", "For you to decide"),
    "error": ("CUDA only: to be replaced or guarded", "CUDA only: to be replaced or guarded"),
    "note": ("Left as it is on purpose", "Left as it is on purpose"),
    "other": ("Other files (never rewritten)", "Other files (never rewritten)"),
}


@dataclass
class Group:
    """The findings of one rule and one severity: how many in each file, where the first is, what they say."""

    files: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)
    messages: Counter[str] = field(default_factory=Counter)

    def kinds(self, rule: str) -> str:
        """Return what the findings are: their messages where these are few, else the rule's title."""
        if len(self.messages) > _MESSAGES or "" in self.messages:
            return title(rule)
        if len(self.messages) == 1:
            return next(iter(self.messages))
        return "; ".join(f"{message} ({n:,})" for message, n in self.messages.most_common())

    def where(self, width: int = 0) -> list[str]:
        """Return the files with most of them, each with the line of its first; as many, at least one, as fit in ``width``."""
        most = sorted(self.files.items(), key=lambda item: (-item[1], item[0]))
        told = [
            f"{path}:{self.first[path]}" + (f" ({count:,})" if count > 1 else "")
            for path, count in most[:_FILES]
        ]
        while True:
            rest = len(most) - len(told)
            said = told + ([f"and {files(rest).replace(' ', ' more ', 1)}"] if rest > 0 else [])
            if len(told) == 1 or not width or len(", ".join(said)) <= width:
                return said
            told.pop()


class Folded:
    """Findings so far, by severity (``change`` for what is rewritten) and rule."""

    def __init__(self) -> None:
        self.groups: dict[str, dict[str, Group]] = {kind: {} for kind in _HEADS}
        self.count = 0

    def add(self, path: str, item: Change | Remark, *, other: bool = False) -> None:
        """Count one finding or change in the file shown as ``path``."""
        kind = item.severity if isinstance(item, Remark) else "change"
        kind = "other" if other else kind
        group = self.groups[kind].setdefault(item.rule, Group())
        group.files[path] += 1
        group.first.setdefault(path, str(item.place).rpartition(":")[0])
        # What is rewritten differs from place to place; the rule's title says it.
        group.messages[item.message if isinstance(item, Remark) else ""] += 1
        self.count += 1

    def sections(self, wrote: bool) -> list[tuple[str, list[tuple[str, Group]]]]:
        """Return each heading with its rules, those with most findings first; empty ones are left out."""
        return [
            (
                f"{_HEADS[kind][0 if wrote else 1]}: {places(*_numbers(groups))}",
                sorted(groups.items(), key=lambda item: (-item[1].files.total(), item[0])),
            )
            for kind, groups in self.groups.items()
            if groups
        ]

    def lines(self, wrote: bool, paths: Sequence[str]) -> list[str]:
        """Return the lines for the console; ``paths`` are those of the command line."""
        out = []
        for head, groups in self.sections(wrote):
            out.append(head)
            for rule, group in groups:
                said = f"{group.kinds(rule)}, {files(len(group.files))}"
                out.append(f"  {group.files.total():>6,}  {rule}: {_cut(said)}")
                out.append(f"{_INDENT}{', '.join(group.where(_WIDTH - len(_INDENT)))}")
        return [*out, *self._next(wrote, paths)]

    def _next(self, wrote: bool, paths: Sequence[str]) -> list[str]:
        out = ["Next:"]
        if self.groups["change"] and not wrote:
            given = shlex.join(paths) if len(paths) <= 3 else "PATH ..."
            out.append(
                f"  python -m tdev.codemod --diff {given}  shows the rewrite; without --diff it is made"
            )
        rules = [rule for kind in ("warning", "error") for rule in self.groups[kind]]
        if rules:
            out.append(
                f"  python -m tdev.codemod --explain {rules[0]}  says what a rule is about and what to do"
            )
        if "test" in self.groups["note"]:
            out.append(
                "  python -m pytest -p tdev.pytest_plugin  runs the tests as they are; --tests rewrites them"
            )
        out.append(
            f"  --verbose  lists all {self.count:,}; --report markdown is for a pull request"
        )
        return out

    def markdown(self, wrote: bool) -> list[str]:
        """Return the lines for a pull request."""
        out = []
        for head, groups in self.sections(wrote):
            out += [f"## {head}", "", "| places | files | rule | what | most of them in |"]
            out += ["| ---: | ---: | --- | --- | --- |"]
            for rule, group in groups:
                where = ", ".join(_plain(part) for part in group.where())
                cells = f"{group.files.total():,}", f"{len(group.files):,}", f"`{rule}`"
                out.append(f"| {' | '.join((*cells, _plain(group.kinds(rule)), where))} |")
            out.append("")
        return out


def files(count: int) -> str:
    """Return a number of files in words."""
    return "1 file" if count == 1 else f"{count:,} files"


def places(count: int, in_files: int) -> str:
    """Return a number of places in a number of files in words."""
    return f"{'1 place' if count == 1 else f'{count:,} places'} in {files(in_files)}"


def _numbers(groups: dict[str, Group]) -> tuple[int, int]:
    together = {path for group in groups.values() for path in group.files}
    return sum(group.files.total() for group in groups.values()), len(together)


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


def _plain(text: str) -> str:
    flat = " ".join(text.split())
    return "".join(f"\\{c}" if c in "\\*_<>[]|" else c for c in flat)
