"""Leaves of a file's result what a run is asked to judge: lines added since a ref, or not in a baseline.

So a project turns the linter on today and mends its past when it likes.
"""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tdev_core.codemod.embedded.jsonspans import CellSource, Spans, read_spans
from tdev_core.codemod.engine import IMPORT_RULES
from tdev_core.codemod.errors import Unreadable, UsageError
from tdev_core.codemod.files.since import Lines
from tdev_core.codemod.model import Change, FileResult, Place, Remark, Status
from tdev_core.codemod.text import decode_python, lines

BASELINE_VERSION = 2
Item = Change | Remark


@dataclass(frozen=True)
class Since:
    """Keeps what touches an added line; ``lines`` has the files by the names that results have."""

    lines: Mapping[str, Lines]

    def __call__(self, result: FileResult) -> FileResult:
        """Return the result with what lies in added lines."""
        known = self.lines.get(result.path, frozenset())
        if known is None or not (result.outcome.changes or result.outcome.remarks):
            return result
        spans = _Spans(result)

        def new(item: Item) -> bool:
            first, last = spans.file_lines(item.place)
            return any(number in known for number in range(first, last + 1))

        return _only(result, new)


@dataclass
class Baseline:
    """Keeps what a baseline does not list; ``base`` is the directory that its paths start from.

    An entry is a rule and the text of a line, so that it holds wherever the line moves in its file.
    """

    base: Path
    entries: Mapping[str, Counter[tuple[str, str]]] = field(default_factory=dict)
    seen: dict[str, Counter[tuple[str, str]]] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Baseline:
        """Return the baseline in ``file``; raises :class:`UsageError` where there is none."""
        try:
            data = json.loads(file.read_text(encoding="utf-8"))
            if data["version"] != BASELINE_VERSION:
                raise UsageError(
                    f"--baseline {file}: version {data['version']!r} is another release's; "
                    f"--write-baseline {file} makes a new one"
                )
            entries = {
                str(path): Counter({(e["rule"], e["line"]): int(e["count"]) for e in listed})
                for path, listed in data["files"].items()
            }
        except FileNotFoundError:
            raise UsageError(
                f"--baseline {file}: there is none yet; --write-baseline {file} makes it"
            ) from None
        except OSError as error:
            raise UsageError(f"--baseline {file}: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UsageError(
                f"--baseline {file}: it is no baseline; --write-baseline {file} makes a new one"
            ) from None
        return cls(file.resolve().parent, entries)

    def write(self, file: Path) -> int:
        """Write what was seen, and return how many findings that is."""
        listed = {
            path: [
                {"rule": rule, "line": line, "count": count}
                for (rule, line), count in sorted(counts.items())
            ]
            for path, counts in sorted(self.seen.items())
        }
        data = {"tool": "tdev.codemod", "version": BASELINE_VERSION, "files": listed}
        try:
            file.write_text(
                json.dumps(data, indent=1, ensure_ascii=False) + "\n",
                encoding="utf-8",
                errors="backslashreplace",
            )
        except OSError as error:
            raise UsageError(f"--write-baseline {file}: {error.strerror or error}") from None
        return sum(sum(counts.values()) for counts in self.seen.values())

    def decline(self, result: FileResult, items: Sequence[Item]) -> None:
        """List these items of a file beside what is listed already, when it is written next."""
        spans = _Spans(result)
        path = self._key(result.path)
        follow = any(item.rule in IMPORT_RULES for item in items)
        told = [*items, *(result.outcome.resting if follow else ())]
        given = Counter((item.rule, spans.line_text(item.place)) for item in told)
        self.seen[path] = given + self.entries.get(path, Counter())
        for path, counts in self.entries.items():
            self.seen.setdefault(path, counts)

    def __call__(self, result: FileResult) -> FileResult:
        """Return the result with what the baseline does not list, and remember what was seen."""
        if not (result.outcome.changes or result.outcome.remarks):
            return result
        spans = _Spans(result)
        path = self._key(result.path)
        left = Counter(self.entries.get(path, ()))
        seen: Counter[tuple[str, str]] = Counter()
        fresh: list[int] = []
        for item in (*result.items(), *result.outcome.resting):
            entry = item.rule, spans.line_text(item.place)
            seen[entry] += 1
            left[entry] -= 1
            if left[entry] < 0:
                fresh.append(id(item))
        self.seen[path] = seen
        outcome = result.outcome
        own = [change for change in outcome.changes if change.rule not in IMPORT_RULES]
        if own and not any(id(item) in fresh for item in (*own, *outcome.resting)):
            # The imports follow what was declined, and change no more than that.
            fresh = [number for number in fresh if number not in map(id, outcome.changes)]
        return _only(result, lambda item: id(item) in fresh)

    def _key(self, shown: str) -> str:
        # A name may be bytes that are no text; it is only ever compared with itself.
        path = os.path.relpath(Path(shown).absolute(), self.base).replace(os.sep, "/")
        return path.encode("utf-8", "backslashreplace").decode("utf-8")


def _only(result: FileResult, keeps: Callable[[Item], bool]) -> FileResult:
    outcome = result.outcome
    changes = tuple(change for change in outcome.changes if keeps(change))
    remarks = tuple(remark for remark in outcome.remarks if keeps(remark))
    if not any(change.rule in IMPORT_RULES for change in changes):
        # The import is not what is judged here; what needs it changed is.
        remarks += tuple(remark for remark in outcome.resting if keeps(remark))
    status = (
        Status.UNCHANGED if outcome.status is Status.CHANGED and not changes else outcome.status
    )
    new = outcome.new if status is Status.CHANGED else None
    return replace(
        result,
        outcome=replace(outcome, status=status, new=new, changes=changes, remarks=remarks),
    )


class _Spans:
    """The lines of a file, and those of a notebook's cells in its file."""

    def __init__(self, result: FileResult) -> None:
        assert result.old is not None, "what is judged is kept"
        try:
            self._code = decode_python(result.old).code
        except Unreadable:
            self._code = result.old.decode("utf-8", "replace")
        self._rows = lines(self._code)
        self._notebook: Spans | None = None
        self._starts: list[int] = []

    def file_lines(self, place: Place) -> tuple[int, int]:
        """Return the first and the last line of the file that a place touches."""
        if place.cell is None:
            # An edit that ends at the start of a line does not touch that line.
            last = place.end_line - (place.end_column == 1 and place.end_line > place.line)
            return place.line, last
        cell = self._cell(place.cell)
        if not cell.is_list:
            at = self._line_of(cell.start)
            return at, at
        tokens = [t for t in cell.tokens if t.value]
        first, last = (
            tokens[min(number, len(tokens)) - 1].start for number in (place.line, place.end_line)
        )
        return self._line_of(first), self._line_of(last)

    def line_text(self, place: Place) -> str:
        """Return the text of the line that a place begins in, without the space around it."""
        rows = self._rows if place.cell is None else lines(self._cell(place.cell).code)
        return rows[place.line - 1].strip() if place.line <= len(rows) else ""

    def _cell(self, number: int) -> CellSource:
        if self._notebook is None:
            self._notebook = read_spans(self._code)
        [cell] = [cell for cell in self._notebook.cells if cell.index + 1 == number]
        return cell

    def _line_of(self, offset: int) -> int:
        if not self._starts:
            at = 0
            for row in self._rows:
                self._starts.append(at)
                at += len(row)
        return bisect_right(self._starts, offset)
