"""Keeps lines aligned with a bracket that has moved: ``torch.zeros((`` is a letter longer than ``tdev.zeros((``.

Only what stood under the first word behind its bracket is moved, as far as that word; what hangs by an indent
of its own stays.
"""

from __future__ import annotations

import io
import tokenize
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tdev_core.codemod.engine.analysis.tree import Tree
from tdev_core.codemod.engine.file import Change, File
from tdev_core.codemod.engine.rules.accelerator.layout import usual_length

_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_BLANK = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT})


@dataclass
class _Bracket:
    row: int
    margin: int
    """The column at which its line begins: what hangs from it is no further to the left."""
    first: int | None = None
    """The column of the first word behind it on its line; None where the line ends with it."""


def keep_aligned(file: File) -> None:
    """Move the lines that stand under a word whose line a change has made longer or shorter."""
    moved = _moved(file)
    if not any(_is_open(file.tree.line_text(row)) for row in moved):
        return
    changes = file.flattened()
    taken = {
        row
        for change in changes
        if "\n" in change.text + file.tree.source[change.start : change.end]
        for row in range(file.tree.position(change.start)[0], file.tree.position(change.end)[0] + 1)
    }
    limit = file.options.line_length or usual_length(file.tree.source)
    for row, shift in _shifts(file.tree, moved):
        text = file.tree.line_text(row).rstrip("\r\n")
        if row in taken or len(text) + shift > max(limit, len(text)):
            continue
        start = file.tree.line_start(row)
        rule = next(change.rule for change in changes)
        added = " " * shift
        file.changes.setdefault(
            (start, start - min(shift, 0)), Change(start, start - min(shift, 0), added, rule)
        )


def _moved(file: File) -> dict[int, list[tuple[int, int]]]:
    """Return by its line where each change inside one stands, and by how much it moves what follows."""
    found: dict[int, list[tuple[int, int]]] = {}
    for change in file.flattened():
        before = file.tree.source[change.start : change.end]
        by = len(change.text) - len(before)
        if by and "\n" not in before + change.text and change.start != change.end:
            row, column = file.tree.position(change.start)
            found.setdefault(row, []).append((column - 1, by))
    return found


def _is_open(line: str) -> bool:
    """Tell whether a line may leave a bracket open."""
    return any(line.count(one) > line.count(other) for one, other in ("()", "[]", "{}"))


def _shifts(tree: Tree, moved: dict[int, list[tuple[int, int]]]) -> Iterator[tuple[int, int]]:
    """Yield the lines to be moved, and by how many columns."""
    shifts: dict[int, int] = {}
    brackets: list[_Bracket] = []
    last = margin = 0
    for above, token in _tokens(tree, moved):
        row, column = token.start[0] + above, token.start[1]
        if token.type in _BLANK:
            continue
        margin = column if row != last else margin
        if brackets and row != last and row != brackets[-1].row:
            around = brackets[-1]
            under = around.first is not None and column >= around.first
            at = around.first if around.first is not None and under else 0
            shift = shifts.get(around.row, 0) + sum(
                by for where, by in moved.get(around.row, ()) if where < at
            )
            if shift and (under or around.first is None and column >= around.margin):
                shifts[row] = shift
                yield row, shift
        if brackets and brackets[-1].row == row and brackets[-1].first is None:
            if token.type != tokenize.COMMENT:
                brackets[-1].first = column
        last = token.end[0] + above
        if token.type == tokenize.OP and token.string in _OPEN:
            brackets.append(_Bracket(row, margin))
        elif token.type == tokenize.OP and token.string in _CLOSE and brackets:
            brackets.pop()


def _tokens(tree: Tree, moved: Iterable[int]) -> Iterator[tuple[int, tokenize.TokenInfo]]:
    """Yield the tokens of the outermost statements with these lines, and the number of lines above their statement.

    As far as Python's tokenizer takes them: it is slow, and most statements have none of the lines.
    """
    ends = [*tree.statements, len(tree.source)]
    parts = sorted({bisect_right(ends, tree.line_start(row)) for row in moved})
    for part in parts:
        start = ends[part - 1] if part else 0
        text = tree.source[start : ends[min(part, len(ends) - 1)]]
        above = tree.position(start)[0] - 1
        try:
            for token in tokenize.generate_tokens(io.StringIO(text).readline):
                yield above, token
        except (tokenize.TokenError, SyntaxError):
            continue
