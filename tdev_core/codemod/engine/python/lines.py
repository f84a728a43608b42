"""Counts the lines of a text: which offset stands where."""

from __future__ import annotations

import bisect
import re

Span = tuple[int, int]
"""Where something starts and ends, as offsets in a text."""

NEWLINE = re.compile(r"\r\n|\r|\n")


class Lines:
    """A text and where its lines start."""

    def __init__(self, source: str) -> None:
        self.source = source
        self._lines = [0, *(found.end() for found in NEWLINE.finditer(source))]

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line and column (in characters) of an offset."""
        line = bisect.bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def line_start(self, line: int) -> int:
        return self._lines[line - 1]

    def line_text(self, line: int) -> str:
        end = self._lines[line] if line < len(self._lines) else len(self.source)
        return self.source[self._lines[line - 1] : end]

    @property
    def line_count(self) -> int:
        return len(self._lines)
