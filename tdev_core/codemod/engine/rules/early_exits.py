"""Finds what a block goes on with after an ``if`` whose body leaves it."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.lines import Span

_LEAVES = re.compile(
    r"(?:return|raise|continue|break)\b"
    r"|(?:(?:sys|os|builtins)\.)?_?(?:exit|quit)\(|(?:pytest|self|unittest)\.(?:skip|skipTest|exit|fail)\("
)
_BODY = re.compile(r"[)\s]*:[ \t]*(?:#.*)?(.*)")


def after_early_exit(file: File, node: cst.If) -> Span | None:
    """Find where the block goes on after an ``if`` whose body leaves it: its test decides about that.

    Read from the lines, since a ``return`` of no concern is not in the tree.
    """
    tree = file.tree
    row, column = tree.position(tree.span(node)[0])
    found = _BODY.match(tree.source, tree.span(node.test)[1])
    if found is None or tree.line_text(row)[: column - 1].strip():
        return None
    here = tree.position(found.start(1))[0] + 1
    last, level = found[1], -1
    while here <= tree.line_count:
        line = tree.line_text(here)
        text = line.lstrip()
        if text and not text.startswith("#"):
            indent = len(line) - len(text)
            if found[1].strip() or indent < column:
                break
            level = indent if level < 0 else level
            if indent == level and text[0] not in ")]}":  # of a call over several lines
                last = text
        here += 1
    if _LEAVES.match(last) is None or here > tree.line_count:
        return None
    end = start = tree.line_start(here)
    while here <= tree.line_count:
        line = tree.line_text(here)
        if line.strip() and len(line) - len(line.lstrip()) < column - 1:
            break
        end = tree.line_start(here) + len(line)
        here += 1
    return start, end
