"""Translates places in rewritten text back to places in the source.

A rewrite may make lines longer, shorter, more or fewer. Code compiled from it still has to name the
lines and columns of the file on disk: tracebacks, debuggers, coverage and ``inspect`` read that file.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tdev_core.codemod.engine import Edit
from tdev_core.codemod.text import Offsets, lines


@dataclass(frozen=True)
class _Span:
    """Text that is the same in both, or (``edited``) that was put in the place of other text."""

    new: int
    old: int
    old_end: int
    edited: bool


class _Columns:
    """Offsets in code points from lines (from 1) and columns in UTF-8 bytes (from 0), and back.

    That is how :mod:`ast` counts.
    """

    def __init__(self, text: str) -> None:
        self._lines = lines(text)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line))

    def offset(self, line: int, column: int) -> int:
        """Return the offset; a column beyond the line (as in f-strings before 3.12) is its end."""
        if line > len(self._lines):
            return self._starts[-1]
        text = self._lines[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode(errors="ignore"))
        return self._starts[line - 1] + min(column, len(text))

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        line = min(bisect_right(self._starts, offset), max(1, len(self._lines)))
        before = self._lines[line - 1][: offset - self._starts[line - 1]] if self._lines else ""
        return line, len(before.encode())


class Origin:
    """The origin of each place of ``rewritten`` in ``source``, given the edits between them."""

    def __init__(self, source: str, rewritten: str, edits: Sequence[Edit]) -> None:
        self._source, self._rewritten = _Columns(source), _Columns(rewritten)
        self._spans = _spans(source, edits)
        self._starts = [span.new for span in self._spans]

    def relocate(self, tree: ast.AST) -> None:
        """Give every node of ``tree``, parsed from the rewritten text, its place in the source."""
        for found in ast.walk(tree):
            if "lineno" not in found._attributes:
                continue
            node: Any = found  # one of many classes that have the four attributes
            start = self._rewritten.offset(node.lineno, node.col_offset)
            end_line, end_column = node.end_lineno, node.end_col_offset
            if end_line is None or end_column is None:
                end_line, end_column = node.lineno, node.col_offset
            end = self._rewritten.offset(end_line, end_column)
            old_start = self._old(start, at_end=False)
            old_end = max(old_start, self._old(end, at_end=True))
            node.lineno, node.col_offset = self._source.place(old_start)
            node.end_lineno, node.end_col_offset = self._source.place(old_end)

    def _old(self, offset: int, at_end: bool) -> int:
        """Return the source offset; inside replaced text that is where the text it replaced starts or ends."""
        index = bisect_right(self._starts, offset) - 1
        if at_end and index and self._starts[index] == offset:
            index -= 1  # an end belongs to the span before it
        span = self._spans[index]
        if span.edited:
            return span.old_end if at_end else span.old
        return min(span.old + offset - span.new, span.old_end)


def _spans(source: str, edits: Sequence[Edit]) -> list[_Span]:
    offset = Offsets(source)
    spans = []
    new = old = 0
    for edit in sorted(edits, key=lambda e: (e.line, e.column, e.end_line, e.end_column)):
        start, end = offset(edit.line, edit.column), offset(edit.end_line, edit.end_column)
        spans.append(_Span(new, old, start, False))
        new += start - old
        spans.append(_Span(new, start, end, True))
        new += len(edit.after)
        old = end
    spans.append(_Span(new, old, len(source), False))
    # A span without new text cannot be where anything comes from, and would hide its neighbour.
    filled = [s for s, t in pairwise(spans) if t.new > s.new]
    return [*filled, spans[-1]]
