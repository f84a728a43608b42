"""Reads the whole text with Python's own parser, for rules that ask about what a slice leaves out.

Only the way to what is asked about is followed: a walk over every node of a file takes longer than its parse.

A ``raise`` or a call of no concern to any rule is not in the engine's tree; what a question guards is
told by exactly those.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, lru_cache

from tdev_core.codemod.engine.python.lines import Lines, Span
from tdev_core.codemod.engine.python.statements import FIELDS, add_children, last_name


class PythonTree:
    """Python's tree of a file's whole text; nodes are found by their place in it."""

    def __init__(self, text: Lines, module: ast.Module | None = None) -> None:
        """``module`` is Python's tree of the text, where it has been read already."""
        self._text = text
        self.module = module or parse(text.source)
        self._parents: dict[ast.AST, ast.AST] = {}

    def is_of(self, text: str) -> bool:
        """Tell whether this is the tree of a whole text, and not of a part of it."""
        return len(self._text.source) == len(text)

    def at(self, span: Span) -> ast.AST | None:
        """Return the expression that has this span in the text, if there is one; the innermost of several.

        From then on it and the nodes around it have ancestors.
        """
        place = (*self._place(span[0]), *self._place(span[1]))
        found: ast.AST | None = None
        stack: list[ast.AST] = [self.module]
        while stack:
            node = stack.pop()
            children: list[ast.AST] = []
            add_children(node, children)
            for child in children:
                if not _has_line(child, place[0]):
                    continue
                self._parents[child] = node
                stack.append(child)
                # Until Python 3.12 the parts of an f-string have the place of the whole.
                is_part = isinstance(node, ast.JoinedStr) and not isinstance(child, ast.JoinedStr)
                if (
                    isinstance(child, ast.expr)
                    and not is_part
                    and place
                    == (child.lineno, child.col_offset, child.end_lineno, child.end_col_offset)
                ):
                    found = child
        return found

    @cached_property
    def everything(self) -> list[ast.AST]:
        """All nodes, those around others before them; all have ancestors from then on."""
        found: list[ast.AST] = [self.module]
        parents = self._parents
        # As `add_children` does; all in one place, for of most files nothing else takes longer here.
        for node in found:
            for name in FIELDS[type(node)]:
                value = getattr(node, name, None)
                if value.__class__ is list:
                    for each in value:
                        if isinstance(each, ast.AST):
                            found.append(each)
                            parents[each] = node
                elif isinstance(value, ast.AST):
                    found.append(value)
                    parents[value] = node
        return found

    @cached_property
    def reads(self) -> dict[str, list[ast.Name]]:
        """The places that read a name."""
        found: dict[str, list[ast.Name]] = {}
        for node in self.everything:
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
        return found

    @cached_property
    def calls(self) -> dict[str, list[ast.Call]]:
        """The calls, by the last name of what is called."""
        found: dict[str, list[ast.Call]] = {}
        for node in self.everything:
            if isinstance(node, ast.Call):
                found.setdefault(last_name(node.func), []).append(node)
        return found

    @cached_property
    def binds(self) -> dict[str, list[ast.Name | ast.arg]]:
        """The variables and parameters that give a name a value, or take it away; no imports, nor functions and classes."""
        found: dict[str, list[ast.Name | ast.arg]] = {}
        for node in self.everything:
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                found.setdefault(node.id, []).append(node)
            elif isinstance(node, ast.arg):
                found.setdefault(node.arg, []).append(node)
        return found

    @cached_property
    def statements(self) -> list[ast.AST]:
        """The module, its statements, and the handlers and cases that hold more of them, in the order of ``ast.walk``.

        For who asks about statements alone: most nodes are parts of expressions.
        """
        found: list[ast.AST] = [self.module]
        for node in found:
            found += below(node)
        return found

    @property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        """The imports of the file, wherever they stand, in the order of a walk by levels."""
        return [n for n in self.statements if isinstance(n, (ast.Import, ast.ImportFrom))]

    @cached_property
    def names(self) -> tuple[dict[str, str], dict[str, ast.stmt]]:
        """The origin of each imported name of the file, and the functions and classes by their names."""
        imported: dict[str, str] = {}
        defined: dict[str, ast.stmt] = {}
        for node in self.statements:
            match node:
                case ast.Import():
                    for alias in node.names:
                        bound = alias.asname or alias.name.split(".")[0]
                        # `import torch.distributed` binds `torch`.
                        imported[bound] = alias.name if alias.asname else bound
                case ast.ImportFrom():
                    base = "." * node.level + (node.module or "")
                    for alias in node.names:
                        full = f"{base}.{alias.name}" if base else ""
                        imported[alias.asname or alias.name] = full
                case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                    defined.setdefault(node.name, node)
                case _:
                    pass
        return imported, defined

    def _place(self, offset: int) -> tuple[int, int]:
        row, column = self._text.position(offset)
        return row, len(self._text.line_text(row)[: column - 1].encode())

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield the parents of a node, nearest first."""
        if node not in self._parents and node is not self.module:
            _ = self.everything  # one that was not on the way to anything asked about
        current = self._parents.get(node)
        while current is not None:
            yield current
            current = self._parents.get(current)

    def source(self, node: ast.stmt | ast.expr) -> str:
        """Return the text of one statement or expression, from its first character to its last."""
        start, end = self.span(node)
        return self._text.source[start:end]

    def span(self, node: ast.stmt | ast.expr | ast.arg) -> Span:
        """Return where one statement, expression or parameter starts and ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self._offset(node.lineno, node.col_offset)
        return start, self._offset(node.end_lineno, node.end_col_offset)

    def _offset(self, line: int, column: int) -> int:
        text = self._text.line_text(line).encode()[:column]
        return self._text.line_start(line) + len(text.decode())

    def text(self, nodes: list[ast.stmt]) -> str:
        """Return the lines of these statements, without comments' effect on them."""
        if not nodes:
            return ""
        first = min([nodes[0].lineno, *(d.lineno for d in getattr(nodes[0], "decorator_list", ()))])
        start = self._text.line_start(first)
        last = nodes[-1].end_lineno or nodes[-1].lineno
        return self._text.source[start : self._text.line_start(last)] + self._text.line_text(last)

    def block(self, statement: ast.AST) -> list[ast.stmt]:
        """Return the statements among which one stands."""
        parent = self._parents.get(statement)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(parent, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return []


@lru_cache(maxsize=1)
def parse(source: str) -> ast.Module:
    """Return Python's tree of a text; that of the last one is kept within :func:`tree_kept`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


@contextmanager
def tree_kept() -> Iterator[None]:
    """Let all who ask for the tree of a file's whole text have the same one meanwhile: it is large."""
    try:
        yield
    finally:
        parse.cache_clear()


_BLOCKS = ("body", "handlers", "orelse", "finalbody", "cases")


def below(node: ast.AST) -> list[ast.AST]:
    """Return the statements right below a node, and the handlers and cases that hold more of them."""
    found: list[ast.AST] = []
    for name in _BLOCKS:
        block = getattr(node, name, None)
        if isinstance(block, list):
            found += block
    return found


def _has_line(node: ast.AST, line: int) -> bool:
    """Tell whether a node may have something on a line: what has no place of its own may."""
    first: int | None = getattr(node, "lineno", None)
    if first is None:
        return True
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    end: int = getattr(node, "end_lineno", None) or first
    return min([first, *(d.lineno for d in decorators)]) <= line <= end
