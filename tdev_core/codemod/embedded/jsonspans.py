"""Finds where in a notebook's JSON text the source lines of its cells stand.

The text is read once by position, so that single lines can be replaced in it while everything else
(outputs, metadata, indentation, key order, escapes) stays as it is, byte for byte.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder(strict=False)


@dataclass(frozen=True)
class Token:
    """One JSON string: its value, and the span of its text with the quotes."""

    value: str
    start: int
    end: int


@dataclass(frozen=True)
class CellSource:
    """The ``source`` of a cell: the strings it is made of, in a list or as a single one.

    ``start`` and ``end`` span the list with its brackets, or the single string.
    """

    index: int
    tokens: tuple[Token, ...]
    is_list: bool
    start: int
    end: int

    @property
    def code(self) -> str:
        """The cell's text."""
        return "".join(token.value for token in self.tokens)


@dataclass(frozen=True)
class Spans:
    """A notebook: its data, and the sources of its code cells in order."""

    data: dict[str, Any]
    cells: tuple[CellSource, ...]


def read_spans(text: str) -> Spans:
    """Read a notebook of format 4; raises ``ValueError`` saying why it is none."""
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("its JSON is no object")
    if data.get("nbformat") != 4:
        raise ValueError(f"notebook format {data.get('nbformat')!r}, only 4 is known")
    if not isinstance(data.get("cells"), list):
        raise ValueError("it has no list of cells")
    cells: list[CellSource] = []
    at = _skip(text, 0)
    for key, start, _ in _members(text, at):
        if key == "cells":
            cells = []  # of two equal keys the last one counts, as it does for json.loads
            for index, (cell_start, _) in enumerate(_elements(text, start)):
                source = _source(text, cell_start, index)
                if source is not None:
                    cells.append(source)
    return Spans(data, tuple(cells))


def _source(text: str, start: int, index: int) -> CellSource | None:
    kind, source = None, None
    for key, value_start, value_end in _members(text, start):
        if key == "cell_type":
            kind = json.loads(text[value_start:value_end])
        elif key == "source":
            source = _tokens(text, value_start, value_end, index)
    return source if kind == "code" else None


def _tokens(text: str, start: int, end: int, index: int) -> CellSource:
    is_list = text[start] == "["
    spans = list(_elements(text, start)) if is_list else [(start, end)]
    tokens = []
    for token_start, token_end in spans:
        if text[token_start] != '"':
            raise ValueError(f"the source of cell {index + 1} is not made of strings")
        tokens.append(Token(_DECODER.raw_decode(text, token_start)[0], token_start, token_end))
    return CellSource(index, tuple(tokens), is_list, start, end)


def _members(text: str, at: int) -> list[tuple[str, int, int]]:
    """Key and span of the value of each member of the object at ``at`` (which json found valid)."""
    if text[at] != "{":
        raise ValueError("a cell is no object")
    members = []
    at = _skip(text, at + 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # the colon
        end = _value_end(text, at)
        members.append((key, at, end))
        at = _next(text, end)
    return members


def _elements(text: str, at: int) -> list[tuple[int, int]]:
    """Return the span of each element of the list at ``at``."""
    elements = []
    at = _skip(text, at + 1)
    while text[at] != "]":
        end = _value_end(text, at)
        elements.append((at, end))
        at = _next(text, end)
    return elements


def _value_end(text: str, at: int) -> int:
    return _DECODER.raw_decode(text, at)[1]


def _next(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at
