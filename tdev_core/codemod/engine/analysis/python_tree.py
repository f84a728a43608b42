"""Reads the whole text with Python's own parser, for rules that ask about what a slice leaves out.

A ``raise`` or a call of no concern to any rule is not in the engine's tree; what a question guards is
told by exactly those.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator

from tdev_core.codemod.engine.analysis.parsing import Span
from tdev_core.codemod.engine.analysis.tree import Tree


class PythonTree:
    """Python's tree of a file's whole text; nodes are found by their place in it."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.module = ast.parse(tree.source)
        self._parents: dict[ast.AST, ast.AST] = {}
        self._by_place: dict[tuple[int, int, int, int], ast.AST] = {}
        stack: list[ast.AST] = [self.module]
        while stack:
            node = stack.pop()
            for child in ast.iter_child_nodes(node):
                self._parents[child] = node
                stack.append(child)
            if isinstance(node, ast.expr):
                place = (
                    node.lineno,
                    node.col_offset,
                    node.end_lineno or 0,
                    node.end_col_offset or 0,
                )
                self._by_place[place] = node

    def at(self, span: Span) -> ast.AST | None:
        """Return the expression that has this span in the text, if there is one."""
        (row, column), (last, end) = map(self._place, span)
        return self._by_place.get((row, column, last, end))

    def _place(self, offset: int) -> tuple[int, int]:
        row, column = self._tree.position(offset)
        return row, len(self._tree.line_text(row)[: column - 1].encode())

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the parents of a node, nearest first."""
        current = self._parents.get(node)
        while current is not None:
            yield current
            current = self._parents.get(current)

    def text(self, nodes: list[ast.stmt]) -> str:
        """Return the lines of these statements, without comments' effect on them."""
        if not nodes:
            return ""
        first = min([nodes[0].lineno, *(d.lineno for d in getattr(nodes[0], "decorator_list", ()))])
        start = self._tree.line_start(first)
        last = nodes[-1].end_lineno or nodes[-1].lineno
        return self._tree.source[start : self._tree.line_start(last)] + self._tree.line_text(last)

    def block(self, statement: ast.AST) -> list[ast.stmt]:
        """Return the statements among which one stands."""
        parent = self._parents.get(statement)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return []
