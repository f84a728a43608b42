"""Checks what the engine wrote: its edits account for every difference, and what parsed still parses.

The parser is asked of no more text than an edit can have touched. A module is a list of statements: if each of two texts is a list of whole statements, and the first
ends its last line, one behind the other is a list of statements again. So where a text parses, and
each run of its outermost statements with an edit in it parses by itself, the new text does too.
"""

from __future__ import annotations

import ast
import symtable
from bisect import bisect_right
from collections.abc import Iterator

from tdev_core.codemod.engine import Result
from tdev_core.codemod.text import Offsets, apply_edits


class BadRewrite(Exception):
    """The engine's result cannot be right; the message says how that shows."""


def check(source: str, result: Result) -> None:
    """Raise :class:`BadRewrite` unless the edits are all that changed and the result parses."""
    applied = source
    if result.edits:
        try:
            applied = apply_edits(source, result.edits)
        except (ValueError, IndexError) as error:
            raise BadRewrite(f"its edits do not fit the source: {error}") from None
    if applied != result.code:
        raise BadRewrite("its edits do not account for every difference")
    if breaks(source, result):
        raise BadRewrite("the result would not parse")


def breaks(source: str, result: Result) -> bool:
    """Tell whether ``source`` parses and the result of rewriting it does not."""
    if result.code == source:
        return False
    if result.statements and all(map(_parses, _touched(source, result))):
        return False
    return not _parses(result.code) and _parses(source)


def _touched(source: str, result: Result) -> Iterator[str]:
    """Yield the runs of outermost statements with an edit in them, as they are in the new text.

    An edit that reaches to the end of a statement's last line counts for the next statement too.
    """
    offset, starts = Offsets(source), [*result.statements, len(source)]
    if starts[0]:
        starts.insert(0, 0)  # what stands above the first statement
    done = shift = 0
    pending: tuple[int, int] | None = None
    for edit in sorted(result.edits, key=lambda e: (e.line, e.column, e.end_line, e.end_column)):
        start, end = offset(edit.line, edit.column), offset(edit.end_line, edit.end_column)
        first = starts[min(bisect_right(starts, start), len(starts) - 1) - 1]
        last = starts[min(bisect_right(starts, end), len(starts) - 1)]
        if pending is not None and first >= done:
            yield result.code[pending[0] : pending[1] + shift]
            pending = None
        if pending is None:
            pending = first + shift, last
        done = max(done, last)
        pending = pending[0], done
        shift += len(edit.after) - (end - start)
    if pending is not None:
        yield result.code[pending[0] : pending[1] + shift]


def _parses(code: str) -> bool:
    try:
        # Python's own tables of names: three times as fast as a tree, and no memory to speak of.
        symtable.symtable(code, "<result>", "exec")
        return True
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass  # it also refuses what only runs, not parses, wrong: `return` outside a function
    try:
        ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True
