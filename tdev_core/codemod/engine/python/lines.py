"""Counts the lines of a text: which offset stands where."""

from __future__ import annotations

import bisect
import re
from io import StringIO
from itertools import accumulate

Span = tuple[int, int]
"""Where something starts and ends, as offsets in a text."""

NEWLINE = re.compile(r"\r\n|\r|\n")


class Lines:
    """A text and where its lines start."""

    def __init__(self, source: str) -> None:
        self.source = source
        # As `NEWLINE` finds them, several times as fast; what follows the last of them is a line, too.
        self._lines = [0, *accumulate(map(len, StringIO(source, newline="")))]
        if source and source[-1] not in "\r\n":
            self._lines.pop()

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
