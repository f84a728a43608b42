"""Rewrites several pieces of Python as one module: cells of a notebook, fences of a document.

The pieces are joined with a comment line of our own between them, the whole is rewritten once, so
that an import in one piece is known in the later ones, and the result is cut at those lines again.
A line that is not Python (a magic, a shell line) is masked by a name of our own while that happens.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from tdev_core.codemod.engine import CUT, Edit, Finding, Result
from tdev_core.codemod.text import lines


class Rewrite(Protocol):
    """Applies the rules to one text; ``beside`` is other text that runs with its names."""

    def __call__(self, source: str, /, *, beside: str = "") -> Result:
        """Return what becomes of the text."""
        ...


@dataclass(frozen=True)
class Segment:
    """One piece: its text, with masked lines in place of what is no Python, and what those stand for.

    ``masks`` maps a masking name to the text it stands for.
    """

    code: str
    masks: Mapping[str, str] = field(default_factory=dict)

    @property
    def parses(self) -> bool:
        """Whether this piece is Python by itself (``await`` and ``return`` outside functions are)."""
        try:
            ast.parse(self.code)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return True


@dataclass(frozen=True)
class Joined:
    """The pieces as one module: its text, and for each piece its first line there and its number of lines."""

    code: str
    _starts: tuple[int, ...]
    _lengths: tuple[int, ...]

    @classmethod
    def of(cls, segments: Sequence[Segment]) -> Joined:
        """Join the pieces, with a line of our own after each."""
        pieces, starts = [], []
        line = 1
        for index, segment in enumerate(segments):
            starts.append(line)
            # A piece need not end in a newline; the one added here is taken off again.
            piece = f"{segment.code}\n{CUT.format(index, len(segments))}\n"
            pieces.append(piece)
            line += len(lines(piece))
        lengths = tuple(len(lines(segment.code)) for segment in segments)
        return cls("".join(pieces), tuple(starts), lengths)

    def locate(self, line: int) -> tuple[int, int]:
        """Return the piece, from 0, and the line in it, from 1, of a line of the module."""
        index = max(i for i, start in enumerate(self._starts) if start <= line)
        # An import added after the last line of a piece stands, in the joined text, on the cut.
        return index, min(line - self._starts[index] + 1, max(1, self._lengths[index]))


@dataclass(frozen=True)
class Rewritten:
    """The pieces' new texts (unmasked), and edits, findings and what rests on the imports by piece, lines counted in it."""

    codes: tuple[str, ...]
    edits: tuple[tuple[int, Edit], ...]
    findings: tuple[tuple[int, Finding], ...]
    resting: tuple[tuple[int, tuple[int, int]], ...]


def rewrite_together(
    segments: Sequence[Segment], rewrite: Rewrite, beside: Sequence[str] = ()
) -> Rewritten:
    """Rewrite the pieces as one module; each must parse by itself, unlike what stands ``beside`` them."""
    joined = Joined.of(segments)
    hidden = [text for segment in segments for text in segment.masks.values()]
    result = rewrite(joined.code, beside="\n".join([*hidden, *beside]))
    pieces = _split(result.code, len(segments))
    codes = tuple(_unmask(p, s.masks) for p, s in zip(pieces, segments, strict=True))
    edits = []
    for edit in result.edits:
        index, line = joined.locate(edit.line)
        span = edit.end_line - edit.line
        masks = segments[index].masks
        edits.append(
            (
                index,
                replace(
                    edit,
                    line=line,
                    end_line=line + span,
                    before=_unmask(edit.before, masks),
                    after=_unmask(edit.after, masks),
                ),
            )
        )
    findings = []
    for finding in result.findings:
        index, line = joined.locate(finding.line)
        findings.append((index, replace(finding, line=line)))
    resting = []
    for line, column in result.resting:
        index, line = joined.locate(line)
        resting.append((index, (line, column)))
    return Rewritten(codes, tuple(edits), tuple(findings), tuple(resting))


def _split(code: str, count: int) -> list[str]:
    pieces = []
    for index in range(count):
        piece, cut, code = code.partition(f"{CUT.format(index, count)}\n")
        if not cut:
            raise ValueError(f"the mark after piece {index} is gone from the result")
        pieces.append(piece[:-1] if piece.endswith("\n") else piece)
    if code:
        raise ValueError("the result goes on after the last piece")
    return pieces


def _unmask(code: str, masks: Mapping[str, str]) -> str:
    for name, original in masks.items():
        code = code.replace(name, original)
    return code
