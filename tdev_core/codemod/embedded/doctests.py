"""Finds examples in docstrings that say CUDA. Nothing is rewritten: what they print is part of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tdev_core.codemod.embedded.rules import DOCTEST
from tdev_core.codemod.model import Place, Remark

_EXAMPLE = re.compile(
    r"^[ \t]*(?:>>>|\.\.\.)[ ][^\n]*?"
    r"(?P<name>\b(?:torch|th)\.cuda(?:\.\w+)*|\.cuda(?=\()|[\"']cuda(?::\d+)?[\"'])",
    re.MULTILINE,
)


def doctests(code: str) -> Iterator[Remark]:
    """Yield a note for each line of an example that says CUDA."""
    if ">>>" not in code:
        return
    line, at = 1, 0
    for found in _EXAMPLE.finditer(code):
        start, end = found.span("name")
        line += code.count("\n", at, start)
        at = start
        column = start - code.rfind("\n", 0, start)
        place = Place(line, column, line, column + end - start)
        message = "an example in a docstring, which says CUDA; left as it is"
        yield Remark(DOCTEST.id, place, message, "note", found["name"].lstrip("."))
