"""Pieces of source text: what a node was written as, and back."""

from __future__ import annotations

import ast
from functools import cache

__all__ = ["Text", "one_line", "parsed", "within"]


class Text:
    """The lines of a file, and the part of them that a node stands for."""

    def __init__(self, text: str) -> None:
        self._lines = text.split("\n")
        self._ascii = text.isascii()

    def of(self, node: ast.expr) -> str:
        """Return the node's own text as it is written, breaks included."""
        lineno, start = node.lineno, node.col_offset
        end_lineno, end = node.end_lineno or lineno, node.end_col_offset
        if self._ascii and lineno == end_lineno:
            return self._lines[lineno - 1][start:end]
        # Column offsets count UTF-8 bytes.
        lines = [line.encode() for line in self._lines[lineno - 1 : end_lineno]]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        return b"\n".join(lines).decode()

    def lines(self, node: ast.stmt) -> str:
        """Return all lines on which a statement stands."""
        return "\n".join(self._lines[node.lineno - 1 : node.end_lineno])


@cache
def parsed(text: str) -> ast.expr:
    """Return the tree of an expression that stood in a file; shared, so not to be changed.

    Raises ``SyntaxError`` where it is none.
    """
    return ast.parse(_bracketed(text), mode="eval").body


def within(text: str, node: ast.expr) -> str:
    """Return what a node of ``parsed(text)`` was written as."""
    return Text(_bracketed(text)).of(node)


def _bracketed(text: str) -> str:
    # An expression over several lines stood in brackets, which are not part of it.
    return f"({text}\n)" if "\n" in text else text.strip()


def one_line(text: str) -> str:
    """Return an expression on one line; comments at line ends go."""
    if "\n" not in text:
        return text.strip()
    try:
        # Reprinting is the only safe way to drop comments and breaks inside brackets.
        return ast.unparse(parsed(text))
    except SyntaxError:
        return " ".join(text.split())
