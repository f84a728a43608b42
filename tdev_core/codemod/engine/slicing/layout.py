"""The statements of a file as Python's parser finds them: where each stands, and what it binds."""

from __future__ import annotations

import ast
import bisect
import re
from collections.abc import Iterator

Span = tuple[int, int]
_NAME = re.compile(r"\w+")
_GLOBAL = re.compile(r"global\b([\w\s,\\]+)")

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
TRIES = (ast.Try, getattr(ast, "TryStar", ast.Try))
LOOPS = (ast.For, ast.AsyncFor)
WITHS = (ast.With, ast.AsyncWith)
BLOCKS = (*FUNCTIONS, *TRIES, *LOOPS, *WITHS, ast.ClassDef, ast.If, ast.While)
_BLOCKS = frozenset(BLOCKS)
LEAVES = (
    *(ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.Return, ast.Raise, ast.Assert),
    *(ast.Delete, ast.Pass, ast.Break, ast.Continue),
)


# Statements and headers that bind names, besides those with `:=` in them.
_BINDS = frozenset(
    (*FUNCTIONS, *LOOPS, *WITHS, ast.ClassDef, ast.Assign, ast.AugAssign, ast.AnnAssign)
    + (ast.ExceptHandler,)
)


class Scope:
    """The names that remaining text mentions, and who waits for one to be mentioned."""

    __slots__ = ("live", "waiting")

    def __init__(self) -> None:
        self.live: set[str] = set()
        self.waiting: dict[str, list[Unit]] = {}


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
    """The units of a file, in source order, each waiting for a mention of what it binds."""

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

    def names_inside(self, unit: Unit) -> bool:
        """Whether a statement may have ``:=`` in it."""
        index = bisect.bisect_left(self._named, unit.start)
        return index < len(self._named) and self._named[index] < unit.end

    def home(self, name: str, unit: Unit) -> Unit | None:
        """The outermost function around a statement that binds ``name``, outside which it is another.

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
        inner.waiting.setdefault(node.arg, []).append(unit)

    def _add(self, unit: Unit) -> Unit:
        self.units.append(unit)
        node = unit.node
        self.unit_of[node] = unit
        kind = type(node)
        walrus = bool(self._named) and self.names_inside(unit)
        if walrus or kind in _BINDS:
            waiting = unit.scope.waiting
            for name in self._bound(node, walrus):
                waiting.setdefault(name, []).append(unit)
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            for name in _own_attributes(unit, node):
                self.attributes.waiting.setdefault(name, []).append(unit)
        elif isinstance(node, ast.Return):
            if unit.function is not None:
                self.calls.waiting.setdefault(unit.function, []).append(unit)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            unit.texts = ()
            self.imported.update(_from_torch(node))
        return unit

    def _bound(self, node: ast.stmt | ast.ExceptHandler | ast.arg, walrus: bool) -> set[str]:
        """The names that a statement, or a header, binds."""
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            return {node.name}
        found: set[str] = set()
        if isinstance(node, ast.arg):
            return found
        if isinstance(node, ast.ExceptHandler):
            return {node.name} if node.name else found
        for target in _targets(node):
            _names_in(target, found)
        if walrus:
            for part in ast.walk(node):
                if isinstance(part, ast.NamedExpr):
                    _names_in(part.target, found)
        return found


def only_if(body: list[ast.stmt]) -> bool:
    """Whether this is an ``elif``, or an ``else`` with nothing but an ``if``."""
    return len(body) == 1 and isinstance(body[0], ast.If)


def is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, (ast.Constant, ast.JoinedStr))


def below(*nodes: ast.AST) -> Iterator[ast.AST]:
    """The nodes and all below them, parents first; three times as fast as :func:`ast.walk`."""
    stack = [*nodes]
    while stack:
        node = stack.pop()
        yield node
        for value in node.__dict__.values():
            if isinstance(value, list):
                stack += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                stack.append(value)


def _from_torch(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The names that an import binds to something of torch's or tdev's."""
    for alias in node.names:
        package = alias.name if isinstance(node, ast.Import) else node.module or ""
        if package.partition(".")[0] in ("torch", "tdev"):
            yield alias.asname or alias.name.partition(".")[0]


def is_prose(node: ast.AST) -> bool:
    """Whether a statement is a string, in which no rule looks for anything."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


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


def chain_root(node: ast.expr) -> str | None:
    """The name with which ``a.b.c`` starts; None for anything but such a chain."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def in_class(unit: Unit) -> bool:
    """Whether a statement stands in a class's body, not in a function there."""
    home = unit.parent
    while home is not None and not isinstance(home.node, (*FUNCTIONS, ast.ClassDef)):
        home = home.parent
    return home is not None and isinstance(home.node, ast.ClassDef)


def own_attribute(node: ast.Attribute) -> bool:
    """Whether this is an attribute of ``self`` or ``cls``."""
    return isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")


def _own_attributes(unit: Unit, node: ast.Assign | ast.AnnAssign) -> list[str]:
    """The attributes that an assignment sets: of ``self`` or ``cls``, or in a class's body."""
    found = []
    for target in _targets(node):
        if isinstance(target, ast.Name) and in_class(unit):
            found.append(target.id)
        elif isinstance(target, ast.Attribute) and own_attribute(target):
            found.append(target.attr)
    return found


def parameters(node: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]]:
    """The parameters in order, each with its default."""
    plain = [*node.posonlyargs, *node.args]
    defaults = [*[None] * (len(plain) - len(node.defaults)), *node.defaults]
    found = list(zip(plain, defaults, strict=True))
    if node.vararg is not None:
        found.append((node.vararg, None))
    found += zip(node.kwonlyargs, node.kw_defaults, strict=True)
    if node.kwarg is not None:
        found.append((node.kwarg, None))
    return found
