"""Asks about each hunk before it is written, as ``git add -p`` does, and remembers what was declined.

A declined hunk is not cut out of the result: the rules run once more with its lines kept, so that imports
follow what was taken. It is remembered as ``# tdev: keep`` in the source, or in a baseline.
"""

from __future__ import annotations

import ast
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING

from tdev_core.codemod.config import Settings
from tdev_core.codemod.engine import IMPORT_RULES, Names, Options, Style
from tdev_core.codemod.errors import UsageError
from tdev_core.codemod.files import write
from tdev_core.codemod.files.discovery import Found
from tdev_core.codemod.jobs.process import Job, load_engine, process
from tdev_core.codemod.jobs.runner import options
from tdev_core.codemod.jobs.surveying import survey
from tdev_core.codemod.judging import Baseline
from tdev_core.codemod.model import Change, FileResult, Kind, Outcome, Status, new_place
from tdev_core.codemod.output import about
from tdev_core.codemod.text import decode_python, lines

if TYPE_CHECKING:
    from rich.console import Console

KEEP = "# tdev: keep"
_NEAR = 2
"""Changes that have fewer lines between them are one hunk."""
_KEYS = {
    "y": "write this hunk",
    "n": "leave it, and remember that",
    "a": "write this hunk and all later ones of the file",
    "q": "leave this hunk and all that follow; what was answered is written",
    "e": "edit what is written",
}


class Quit(Exception):
    """The one who was asked wants no more questions."""


@dataclass(frozen=True)
class Hunk:
    """Changes of neighbouring lines; ``whole``: all that a file has, which only goes together."""

    changes: tuple[Change, ...]
    whole: bool = False

    @property
    def lines(self) -> frozenset[int]:
        """The lines of the old text that the changes touch."""
        spans = (range(c.place.line, c.place.end_line + 1) for c in self.changes)
        return frozenset(line for span in spans for line in span)


def hunks(outcome: Outcome, kind: Kind, style: Style) -> list[Hunk]:
    """Return the hunks to ask about; imports follow the others, but under the alias, where they are the change.

    ``--target accelerator`` changes a file whole or leaves it whole, and half an answer would be neither.
    """
    own = [c for c in outcome.changes if c.rule not in IMPORT_RULES]
    if kind is not Kind.PYTHON or style != "explicit" or not own:
        return [Hunk(outcome.changes, whole=True)]
    groups: list[list[Change]] = []
    for change in sorted(own, key=lambda c: (c.place.line, c.place.column)):
        if groups and change.place.line - groups[-1][-1].place.end_line <= _NEAR:
            groups[-1].append(change)
        else:
            groups.append([change])
    return [Hunk(tuple(group)) for group in groups]


class Session:
    """Asks on a terminal; ``declined`` is the baseline that remembers, or None for comments in the source."""

    def __init__(
        self, files: Sequence[Found], settings: Settings, engine: str, declined: Path | None
    ) -> None:
        if not sys.stdin.isatty():
            raise UsageError("--interactive asks on a terminal, which standard input is not")
        from rich.console import Console  # rich takes longer to import than most runs take

        self._console: Console = Console(highlight=False)
        chosen = options(settings)
        self._options = replace(chosen, tree=survey(files, chosen.style))
        self._engine, self._names = load_engine(engine), Names.load()
        self._file = declined
        self._baseline: Baseline | None = None
        if declined is not None:
            known = declined.exists()
            self._baseline = (
                Baseline.read(declined) if known else Baseline(declined.resolve().parent)
            )
        self._over = False

    def ask(self, found: Found, result: FileResult) -> FileResult:
        """Ask about a file's hunks, write what was taken, and return what came of it."""
        if result.outcome.new is None or result.old is None:
            return result
        if self._over:
            return _unchanged(result)
        known = self._baseline
        # A baseline of its own: what it sees now is not what was declined.
        fresh = result if known is None else Baseline(known.base, known.entries)(result)
        listed = [c for c in result.outcome.changes if c not in fresh.outcome.changes]
        kept = {line for c in listed if c.rule not in IMPORT_RULES for line in Hunk((c,)).lines}
        if not fresh.outcome.changes:
            return _unchanged(result)
        before = self._outcome(found, result.old, kept) if kept else result.outcome
        style = self._options.style
        asked = hunks(before, found.kind, style) if before.new is not None else []
        taken, declined, edited = self._answers(result, asked)
        new = self._new(found, result.old, before, kept, taken, declined)
        outcome = new if new.new is not None else replace(new, status=Status.UNCHANGED)
        raw = outcome.new if outcome.new is not None else result.old
        if edited:
            raw = _with_edits(raw, outcome, edited)
        if declined and self._baseline is not None:
            self._baseline.decline(result, [c for h in declined for c in h.changes])
        elif declined:
            raw = self._marked(found, raw, outcome, declined)
        if raw == result.old:
            return _unchanged(result)
        try:
            write.replace(found.path, result.old, raw)
        except write.NotWritten as error:
            return result.failed(f"not rewritten: {error}")
        changed = replace(outcome, status=Status.CHANGED, new=raw)
        return replace(result, outcome=changed, written=True)

    def finish(self) -> None:
        """Write the baseline of what was declined."""
        if self._baseline is not None and self._baseline.seen and self._file is not None:
            self._baseline.write(self._file)

    def _outcome(self, found: Found, raw: bytes, kept: set[int]) -> Outcome:
        chosen: Options = replace(self._options, lines=frozenset(kept))
        return process(Job(found.shown, found.kind, raw, chosen), self._engine, self._names)

    def _new(
        self,
        found: Found,
        raw: bytes,
        outcome: Outcome,
        kept: set[int],
        taken: list[Hunk],
        declined: list[Hunk],
    ) -> Outcome:
        """Return the outcome with what was taken alone."""
        if not taken:
            return replace(outcome, status=Status.UNCHANGED, new=None, changes=())
        left = {line for hunk in declined for line in hunk.lines}
        # What was not asked any more stays for now, and is not remembered.
        rest = [h for h in hunks(outcome, found.kind, self._options.style) if h not in taken]
        left |= {line for hunk in rest for line in hunk.lines}
        return self._outcome(found, raw, kept | left) if left else outcome

    def _answers(
        self, result: FileResult, asked: list[Hunk]
    ) -> tuple[list[Hunk], list[Hunk], dict[Hunk, str]]:
        taken: list[Hunk] = []
        declined: list[Hunk] = []
        edited: dict[Hunk, str] = {}
        for number, hunk in enumerate(asked, 1):
            old, new = _texts(result, hunk)
            self._show(result.path, hunk, old, new)
            try:
                key = self._key(f"({number}/{len(asked)}) write this hunk?", hunk)
            except Quit:
                self._over = True
                break
            if key == "n":
                declined.append(hunk)
                continue
            if key == "e":
                edited[hunk] = _edited("".join(new), result.path)
            taken.append(hunk)
            if key == "a":
                taken += asked[number:]
                break
        return taken, declined, edited

    def _key(self, question: str, hunk: Hunk) -> str:
        from rich.text import Text

        keys = [key for key in _KEYS if key != "e" or not hunk.whole]
        while True:
            try:
                said = self._console.input(Text(f"{question} [{','.join(keys)},?] ", "bold"))
            except EOFError:
                raise Quit from None
            key = said.strip()[:1].lower()
            if key == "q":
                raise Quit
            if key in keys:
                return key
            for name in keys:
                self._console.print(Text(f"{name} - {_KEYS[name]}", "red"))

    def _show(self, path: str, hunk: Hunk, old: list[str], new: list[str]) -> None:
        from rich.text import Text

        first = min(change.place.line for change in hunk.changes)
        for rule in dict.fromkeys(change.rule for change in hunk.changes):
            whys = dict.fromkeys(c.why for c in hunk.changes if c.rule == rule and c.why)
            reason = "; ".join([about.title(rule), *whys])
            self._console.print(Text(f"{path}:{first} {rule}: {reason}", "bold"))
        styles = {"-": "red", "+": "green"}
        for row in list(unified_diff(old, new, n=3))[2:]:
            if row.startswith("@@"):
                continue  # numbers of lines in the hunk: where it stands is said above
            self._console.print(Text(row.rstrip("\r\n"), styles.get(row[:1], "")), soft_wrap=True)

    def _marked(self, found: Found, raw: bytes, outcome: Outcome, declined: list[Hunk]) -> bytes:
        """Return the text with a comment at each line that was declined; without, where there is no place for it."""
        marked = raw
        if found.kind is Kind.PYTHON:
            text = decode_python(raw)
            rows = lines(text.code)
            for hunk in declined:
                _mark(rows, hunk, outcome.changes)
            code = "".join(rows)
            if _same(text.code, code):
                marked = text.encode(code)
        if marked == raw:
            self._console.print("no comment fits there: it will be asked again, or use --baseline")
        return marked


def _unchanged(result: FileResult) -> FileResult:
    outcome = replace(result.outcome, status=Status.UNCHANGED, new=None, changes=())
    return replace(result, outcome=outcome)


def _texts(result: FileResult, hunk: Hunk) -> tuple[list[str], list[str]]:
    """Return the lines that a hunk touches, before and after it alone."""
    assert result.old is not None and result.outcome.new is not None
    if hunk.whole:
        whole = (result.old, result.outcome.new)
        before, after = (lines(raw.decode("utf-8", "replace")) for raw in whole)
        return before, after
    rows = lines(decode_python(result.old).code)
    first = min(change.place.line for change in hunk.changes)
    last = max(change.place.end_line for change in hunk.changes)
    new = rows[first - 1 : last]
    for change in sorted(hunk.changes, key=lambda c: (c.place.line, c.place.column), reverse=True):
        at = change.place
        start, end = at.line - first, at.end_line - first
        head, tail = new[start][: at.column - 1], new[end][at.end_column - 1 :]
        new[start : end + 1] = lines(head + change.after + tail)
    return rows[first - 1 : last], new


def _edited(text: str, path: str) -> str:
    """Return the text as the user's editor leaves it."""
    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, Path(path).name)
        file.write_bytes(text.encode())
        subprocess.run([*shlex.split(editor), str(file)], check=False)  # nosec B603  # the user's own editor
        return file.read_bytes().decode("utf-8", "replace")


def _with_edits(raw: bytes, outcome: Outcome, edited: dict[Hunk, str]) -> bytes:
    """Return the new text with what was edited in the place of what the rules had written."""
    text = decode_python(raw)
    rows = lines(text.code)
    for hunk in sorted(edited, key=lambda h: min(h.lines), reverse=True):
        places = [new_place(c, outcome.changes) for c in hunk.changes]
        first, last = min(p.line for p in places), max(p.end_line for p in places)
        rows[first - 1 : last] = lines(edited[hunk])
    return text.encode("".join(rows))


def _mark(rows: list[str], hunk: Hunk, changes: Sequence[Change]) -> None:
    if hunk.whole:
        at = 0
        while at < len(rows) and rows[at].startswith("#"):
            at += 1
        rows.insert(at, KEEP + (rows[0][len(rows[0].rstrip("\r\n")) :] or "\n" if rows else "\n"))
        return
    for last in {change.place.end_line for change in hunk.changes}:
        added = sum(
            c.after.count("\n") - c.before.count("\n") for c in changes if c.place.end_line < last
        )
        row = rows[last + added - 1]
        body = row.rstrip("\r\n")
        if KEEP not in body:
            rows[last + added - 1] = f"{body}  {KEEP}{row[len(body) :]}"


def _same(before: str, after: str) -> bool:
    try:
        return ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
