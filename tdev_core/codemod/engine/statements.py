"""The statements of a file as Python's parser finds them: where each stands, and what it binds."""

from __future__ import annotations

import ast
import re

Span = tuple[int, int]
_DEF = re.compile(r"(?:async\s+)?def\s+\w+")

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))
LOOPS = (ast.For, ast.AsyncFor)
WITHS = (ast.With, ast.AsyncWith)
BLOCKS = (*FUNCTIONS, *TRIES, *LOOPS, *WITHS, ast.ClassDef, ast.If, ast.While)
LEAVES = (
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Raise, ast.Assert),
    *(ast.Delete, ast.Pass, ast.Break, ast.Continue),
)


class Scope:
    """The names that remaining text mentions, and who waits for one to be mentioned."""

    __slots__ = ("live", "waiting")

    def __init__(self) -> None:
        self.live: set[str] = set()
        self.waiting: dict[str, list[Unit]] = {}


class Unit:
    """A statement without blocks, or the header of one with blocks."""

    __slots__ = ("node", "start", "end", "texts", "parent", "scope", "function", "kept")

    def __init__(
        self,
        node: ast.stmt | ast.ExceptHandler,
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


class Layout:
    """The units of a file, in source order, each waiting for a mention of what it binds."""

    def __init__(self, source: str, tree: ast.Module) -> None:
        self._source = source
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
        self._block(tree.body, None, self.file, None)
        self.units.sort(key=lambda unit: unit.start)

    def offset(self, line: int, column: int) -> int:
        start = self._lines[line - 1]
        if self._ascii:
            return start + column
        text = self._source[start : start + column]
        if text.isascii():
            return start + column
        return start + len(text.encode()[:column].decode())

    def _start(self, node: ast.stmt | ast.ExceptHandler) -> int:
        decorators = getattr(node, "decorator_list", None)
        if not decorators:
            return self.offset(node.lineno, node.col_offset)
        first = self.offset(decorators[0].lineno, decorators[0].col_offset)
        return self._source.rindex("@", 0, first)

    def end(self, node: ast.stmt | ast.expr) -> int:
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.offset(node.end_lineno, node.end_col_offset)

    def _block(
        self, body: list[ast.stmt], parent: Unit | None, scope: Scope, function: str | None
    ) -> None:
        before: ast.stmt | None = None
        for node in body:
            start = self._start(node)
            if isinstance(node, ast.If) and isinstance(before, ast.If):
                self.beside.setdefault(node, []).append(before)
                self.beside.setdefault(before, []).append(node)
            before = node
            if not isinstance(node, BLOCKS):
                span = start, self.end(node)
                self._add(Unit(node, span, (span,), parent, scope, function))
                continue
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
        own = self.offset(node.lineno, node.col_offset)
        found = _DEF.match(self._source, own)
        after = found.end() if found else own
        unit = self._add(
            Unit(node, head, ((head[0], own), (after, head[1])), parent, scope, function)
        )
        inner = scope
        if scope is self.file:
            inner = Scope()
            self.functions.append(inner)
        self._block(node.body, unit, inner, node.name)

    def _add(self, unit: Unit) -> Unit:
        self.units.append(unit)
        self.unit_of[unit.node] = unit
        for name in self._bound(unit.node):
            unit.scope.waiting.setdefault(name, []).append(unit)
        if isinstance(unit.node, (ast.Import, ast.ImportFrom)):
            self.imported.update(a.asname or a.name.partition(".")[0] for a in unit.node.names)
        for name in _own_attributes(unit.node):
            self.attributes.waiting.setdefault(name, []).append(unit)
        if isinstance(unit.node, ast.Return) and unit.function is not None:
            self.calls.waiting.setdefault(unit.function, []).append(unit)
        return unit

    def _bound(self, node: ast.stmt | ast.ExceptHandler) -> set[str]:
        """The names that a statement, or a header, binds."""
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            return {node.name}
        found: set[str] = set()
        if isinstance(node, ast.ExceptHandler):
            return {node.name} if node.name else found
        for target in _targets(node):
            _names_in(target, found)
        unit_text = self._source[self._start(node) : self._head_end(node)]
        if ":=" in unit_text:
            for below in ast.walk(node):
                if isinstance(below, ast.NamedExpr):
                    _names_in(below.target, found)
        return found

    def _head_end(self, node: ast.stmt) -> int:
        body = getattr(node, "body", None)
        return self._start(body[0]) if isinstance(body, list) and body else self.end(node)


def only_if(body: list[ast.stmt]) -> bool:
    """Whether this is an ``elif``, or an ``else`` with nothing but an ``if``."""
    return len(body) == 1 and isinstance(body[0], ast.If)


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.JoinedStr))


def _targets(node: ast.stmt) -> list[ast.expr]:
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, (ast.AugAssign, ast.AnnAssign, *LOOPS)):
        return [node.target]
    if isinstance(node, WITHS):
        return [item.optional_vars for item in node.items if item.optional_vars is not None]
    return []


def _names_in(target: ast.expr, found: set[str]) -> None:
    if isinstance(target, ast.Name):
        found.add(target.id)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for part in target.elts:
            _names_in(part, found)
    elif isinstance(target, ast.Starred):
        _names_in(target.value, found)


def _own_attributes(node: ast.stmt | ast.ExceptHandler) -> list[str]:
    """The attributes of ``self`` or ``cls`` that an assignment sets."""
    if not isinstance(node, (ast.Assign, ast.AnnAssign)):
        return []
    return [
        target.attr
        for target in _targets(node)
        if isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id in ("self", "cls")
    ]
