"""Indexes the statements of a file as Python's parser finds them: where each stands, what it defines.

Each waits, under the names that it defines, for text that stays to mention one of them.
"""

from __future__ import annotations

import ast
import bisect
import re

from tdev_core.codemod.engine.slicing.syntax import (
    BLOCKS,
    FUNCTIONS,
    LOOPS,
    WITHS,
    add_names,
    names_from_torch,
    own_attribute,
    parameters,
    targets,
)

Span = tuple[int, int]
_BLOCKS = frozenset(BLOCKS)
_NAME = re.compile(r"\w+")
_GLOBAL = re.compile(r"global\b([\w\s,\\]+)")

# Statements and headers that bind names, besides those with `:=` in them.
_BINDS = frozenset(
    (*FUNCTIONS, *LOOPS, *WITHS, ast.ClassDef, ast.Assign, ast.AugAssign, ast.AnnAssign)
    + (ast.ExceptHandler,)
)


class Scope:
    """The names that the slice mentions so far, and the definitions that no mention has asked for."""

    __slots__ = ("live", "pending")

    def __init__(self) -> None:
        self.live: set[str] = set()
        self.pending: dict[str, list[Unit]] = {}


class Unit:
    """A statement without blocks, the header of one with blocks, or what a parameter says.

    That is its annotation and its default: its name stays with the header.
    """

    __slots__ = ("node", "start", "end", "texts", "parent", "scope", "function", "kept", "whole")

    def __init__(
        self,
        node: ast.stmt | ast.ExceptHandler | ast.arg,
        span: Span,
        texts: tuple[Span, ...],
        parent: Unit | None,
        scope: Scope,
        function: str | None,
    ) -> None:
        self.node = node
        self.start, self.end = span
        self.texts = texts
        """The spans in which names count as mentioned."""
        self.parent = parent
        self.scope = scope
        self.function = function
        self.kept = False
        self.whole = False
        """Whether nothing of what is kept may go."""


class Layout:
    """The units of a file in source order, each pending under the names that it defines."""

    def __init__(self, source: str, tree: ast.Module) -> None:
        self.source = source
        self._named = [found.start() for found in re.finditer(":=", source)]
        self._lines = [0, *(m.end() for m in re.finditer("\n", source))]
        self._ascii = source.isascii()
        self.file = Scope()
        self.attributes = Scope()
        self.calls = Scope()
        self.functions: list[Scope] = []
        self.units: list[Unit] = []
        self.unit_of: dict[ast.AST, Unit] = {}
        self.beside: dict[ast.AST, list[ast.stmt]] = {}
        """The ``if`` statements next to one in the same block."""
        self.imported: set[str] = set()
        """The names that some import binds to something of torch's or tdev's."""
        self.defaults: dict[ast.arg, ast.expr] = {}
        self._globals = set(_NAME.findall(" ".join(_GLOBAL.findall(source))))
        self._block(tree.body, None, self.file, None)
        self.units.sort(key=lambda unit: unit.start)

    def forget(self) -> None:
        """Drop the pending definitions: a cycle, which would stay until the collector comes."""
        for scope in (self.file, *self.functions):
            scope.pending.clear()

    def names_inside(self, unit: Unit) -> bool:
        """Tell whether a statement may have ``:=`` in it."""
        index = bisect.bisect_left(self._named, unit.start)
        return index < len(self._named) and self._named[index] < unit.end

    def home(self, name: str, unit: Unit) -> Unit | None:
        """Return the outermost function around a statement that binds ``name``, outside which it is another.

        None for one of the whole file.
        """
        found, above = None, unit.parent
        while above is not None:
            if isinstance(above.node, FUNCTIONS):
                found = above
            above = above.parent
        return None if name in self._globals else found

    def offset(self, line: int, column: int) -> int:
        start = self._lines[line - 1]
        if self._ascii or not column:
            return start + column
        text = self.source[start : start + column]
        if text.isascii():
            return start + column
        return start + len(text.encode()[:column].decode())

    def _start(self, node: ast.stmt | ast.ExceptHandler) -> int:
        decorators = getattr(node, "decorator_list", None)
        if not decorators:
            return self.offset(node.lineno, node.col_offset)
        first = self.offset(decorators[0].lineno, decorators[0].col_offset)
        return self.source.rindex("@", 0, first)

    def end(self, node: ast.stmt | ast.expr | ast.arg | ast.alias) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def span(self, node: ast.stmt | ast.expr | ast.alias) -> Span:
        if self._ascii:
            assert node.end_lineno is not None and node.end_col_offset is not None
            start = self._lines[node.lineno - 1] + node.col_offset
            return start, self._lines[node.end_lineno - 1] + node.end_col_offset
        return self.offset(node.lineno, node.col_offset), self.end(node)

    def _block(
        self, body: list[ast.stmt], parent: Unit | None, scope: Scope, function: str | None
    ) -> None:
        before: ast.stmt | None = None
        for node in body:
            if type(node) not in _BLOCKS:
                span = self.span(node)
                self._add(Unit(node, span, (span,), parent, scope, function))
                before = node
                continue
            assert isinstance(node, BLOCKS)
            start = self._start(node)
            if isinstance(node, ast.If) and isinstance(before, ast.If):
                self.beside.setdefault(node, []).append(before)
                self.beside.setdefault(before, []).append(node)
            before = node
            head = start, self._start(node.body[0])
            if isinstance(node, FUNCTIONS):
                self._def(node, head, parent, scope, function)
                continue
            unit = self._add(Unit(node, head, (head,), parent, scope, function))
            self._block(node.body, unit, scope, function)
            for handler in getattr(node, "handlers", ()):
                span = self._start(handler), self._start(handler.body[0])
                inner = self._add(Unit(handler, span, (span,), unit, scope, function))
                self._block(handler.body, inner, scope, function)
            self._block(getattr(node, "orelse", []), unit, scope, function)
            self._block(getattr(node, "finalbody", []), unit, scope, function)

    def _def(
        self,
        node: ast.FunctionDef | ast.AsyncFunctionDef,
        head: Span,
        parent: Unit | None,
        scope: Scope,
        function: str | None,
    ) -> None:
        texts: list[Span] = []
        if node.decorator_list:
            texts.append((head[0], self.offset(node.lineno, node.col_offset)))
        if node.returns is not None:
            texts.append(self.span(node.returns))
        unit = self._add(Unit(node, head, tuple(texts), parent, scope, function))
        inner = scope
        if scope is self.file:
            inner = Scope()
            self.functions.append(inner)
        for argument, default in parameters(node.args):
            self._parameter(argument, default, unit, inner)
        self._block(node.body, unit, inner, node.name)

    def _parameter(
        self, node: ast.arg, default: ast.expr | None, parent: Unit, inner: Scope
    ) -> None:
        if default is None and node.annotation is None:
            return
        named = _NAME.match(self.source, self.offset(node.lineno, node.col_offset))
        assert named is not None
        start, end = named.end(), self.end(node if default is None else default)
        while self.source.count("(", start, end) > self.source.count(")", start, end):
            # A parenthesis around a default is no part of it.
            end = self.source.index(")", end) + 1
        span = start, end
        if default is not None:
            self.defaults[node] = default
        unit = Unit(node, span, (span,), parent, parent.scope, parent.function)
        self.units.append(unit)
        self.unit_of[node] = unit
        inner.pending.setdefault(node.arg, []).append(unit)

    def _add(self, unit: Unit) -> Unit:
        self.units.append(unit)
        node = unit.node
        self.unit_of[node] = unit
        kind = type(node)
        walrus = bool(self._named) and self.names_inside(unit)
        if walrus or kind in _BINDS:
            pending = unit.scope.pending
            for name in self._bound(node, walrus):
                pending.setdefault(name, []).append(unit)
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for name in _own_attributes(unit, node):
                self.attributes.pending.setdefault(name, []).append(unit)
        elif isinstance(node, ast.Return):
            if unit.function is not None:
                self.calls.pending.setdefault(unit.function, []).append(unit)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            unit.texts = ()
            self.imported.update(names_from_torch(node))
        return unit

    def _bound(self, node: ast.stmt | ast.ExceptHandler | ast.arg, walrus: bool) -> set[str]:
        """Return the names that a statement, or a header, binds."""
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            return {node.name}
        found: set[str] = set()
        if isinstance(node, ast.arg):
            return found
        if isinstance(node, ast.ExceptHandler):
            return {node.name} if node.name else found
        for target in targets(node):
            add_names(target, found)
        if walrus:
            for part in ast.walk(node):
                if isinstance(part, ast.NamedExpr):
                    add_names(part.target, found)
        return found


def in_class(unit: Unit) -> bool:
    """Tell whether a statement stands in a class's body, not in a function there."""
    home = unit.parent
    while home is not None and not isinstance(home.node, (*FUNCTIONS, ast.ClassDef)):
        home = home.parent
    return home is not None and isinstance(home.node, ast.ClassDef)


def _own_attributes(unit: Unit, node: ast.Assign | ast.AnnAssign) -> list[str]:
    """Return the attributes that an assignment sets: of ``self`` or ``cls``, or in a class's body."""
    found = []
    for target in targets(node):
        if isinstance(target, ast.Name) and in_class(unit):
            found.append(target.id)
        elif isinstance(target, ast.Attribute) and own_attribute(target):
            found.append(target.attr)
    return found
