"""Counts what a run came to, and decides the exit status."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from tdev_core.codemod.model import SEVERITIES, FileResult, Status

CLEAN, FOUND, FAILED, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143


@dataclass
class Summary:
    """Counts, filled one result at a time."""

    writes: bool
    files: Counter[Status] = field(default_factory=Counter)
    changes: Counter[str] = field(default_factory=Counter)
    remarks: dict[str, Counter[str]] = field(default_factory=dict)
    other_files: int = 0
    other_places: int = 0
    concerned: int = 0
    """Files with anything to change or to look at."""
    found_in: Counter[str] = field(default_factory=Counter)
    """Files in which a rule changes or finds something."""
    left: dict[str, None] = field(default_factory=dict)
    """The projects that are left as they are, and why, each once."""
    interrupted: int = 0
    """The exit status of a run that Ctrl-C or SIGTERM ended, else 0."""

    def add(self, result: FileResult) -> None:
        """Count one file. Changes count where they were, or would be, made."""
        if result.other and result.status is Status.UNCHANGED:
            # Listed apart: nothing in such a file is rewritten or has to be.
            self.other_places += len(result.outcome.remarks)
            self.other_files += bool(result.outcome.remarks)
            return
        self.files[result.status] += 1
        if result.outcome.left:
            self.left.setdefault(result.outcome.left)
        changed = result.status is Status.CHANGED
        if changed:
            self.changes.update(change.rule for change in result.outcome.changes)
        rules = {item.rule for item in result.items(changes=changed)}
        self.found_in.update(rules)
        self.concerned += bool(rules)
        for remark in result.outcome.remarks:
            self.remarks.setdefault(remark.rule, Counter())[remark.severity] += 1

    def remarked(self, rule: str) -> list[int]:
        """Count the remarks of a rule, by severity from worst to mildest."""
        counts = self.remarks.get(rule, Counter())
        return [counts[name] for name in SEVERITIES]

    def severity(self, name: str) -> int:
        """Count the remarks of this severity."""
        return sum(counter[name] for counter in self.remarks.values())

    @property
    def exit_status(self) -> int:
        """2 after an error, 1 where something is left to do, 0 otherwise (130 or 143 when ended by a signal).

        Left to do is a file that would change (a run that wrote it has done it) and a remark that is
        more than a note.
        """
        if self.interrupted:
            return self.interrupted
        if self.files[Status.ERROR]:
            return FAILED
        pending = self.files[Status.CHANGED] and not self.writes
        to_look_at = any(self.severity(name) for name in SEVERITIES if name != "note")
        return FOUND if pending or to_look_at else CLEAN

    def table(self) -> str:
        """Return the numbers by rule as a table, and one line about the files."""
        rules = sorted({*self.changes, *self.remarks})
        verb = "rewritten" if self.writes else "to rewrite"
        head = ("rule", verb, "errors", "warnings", "notes", "files")
        rows = [
            (rule, self.changes[rule], *self.remarked(rule), self.found_in[rule]) for rule in rules
        ]
        severities = (self.severity(s) for s in SEVERITIES)
        total = ("all", sum(self.changes.values()), *severities, self.concerned)
        text = [_aligned([head, *rows, total])] if rows else []
        return "\n".join([*text, self.sentence()])

    def sentence(self) -> str:
        """Return the files in one line."""
        changed = "rewritten" if self.writes else "would be rewritten"
        counts = [
            (self.files[Status.CHANGED], changed),
            (self.files[Status.UNCHANGED], "unchanged"),
            (self.files[Status.SKIPPED], "skipped"),
            (self.files[Status.ERROR], "could not be handled"),
        ]
        parts = [f"{_files(count)} {what}" for count, what in counts if count]
        stopped = {0: "", TERMINATED: "terminated; "}.get(self.interrupted, "interrupted; ")
        others = ""
        if self.other_places:
            places = "1 place" if self.other_places == 1 else f"{self.other_places:,} places"
            where = _files(self.other_files).replace("file", "other file")
            one = self.other_places == 1
            left = "says CUDA and is left as it is" if one else "say CUDA and are left as they are"
            others = f" {places} in {where} {left}."
        none = "no file was done" if self.interrupted else "no files to look at"
        return " ".join([stopped + (", ".join(parts) or none) + "." + others, *self.left])


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count:,} files"


def _aligned(rows: list[tuple[object, ...]]) -> str:
    cells = [[str(cell) if cell != 0 else "-" for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in cells) for i in range(len(cells[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    return "\n".join([lines[0], rule, *lines[1:-1], rule, lines[-1]])
