"""Which names hold a device or a name of torch, and what makes another one hold it too."""

from __future__ import annotations

import ast

from tdev_core.codemod.engine.statements import FUNCTIONS, LOOPS, Layout, Unit, parameters
from tdev_core.codemod.engine.words import Words

# Calls that hand on a device that they are given.
_HANDS_ON = frozenset({"str", "dict", "format", "getattr", "partial"})
_HOLDERS = (
    *(ast.IfExp, ast.BoolOp, ast.BinOp, ast.NamedExpr, ast.JoinedStr, ast.FormattedValue),
    *(ast.Dict, ast.Tuple, ast.List, ast.Set, ast.Starred, ast.Subscript),
)


class Holders:
    """The names that are known to hold one; more with each statement that is looked at."""

    def __init__(self, words: Words, layout: Layout) -> None:
        self._words = words
        self._layout = layout
        self._names: set[str] = set()
        self._new: list[str] = []

    def learn(self, unit: Unit) -> list[str]:
        """The names that hold one by this statement, which holds a rule's word or such a name."""
        self._new = []
        self._statement(unit.node, unit.function)
        if isinstance(unit.node, ast.Match):
            self._below(unit.node, unit.function)
        if ":=" in self._layout.source[unit.start : unit.end]:
            for below in ast.walk(unit.node):
                if isinstance(below, ast.NamedExpr):
                    self._assign(below.target, below.value)
        return self._new

    def _below(self, node: ast.AST, function: str | None) -> None:
        """The same for the statements in one that is a unit with all its blocks."""
        for below in ast.iter_child_nodes(node):
            if isinstance(below, (ast.stmt, ast.match_case, ast.ExceptHandler)):
                self._statement(below, function)
                own = function
                if isinstance(below, FUNCTIONS):
                    own = below.name
                    for argument, default in parameters(below.args):
                        self._parameter(argument, default)
                self._below(below, own)

    def _statement(self, node: ast.AST, function: str | None) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name in self._words.imported(node):
                self._add(name)
        elif isinstance(node, ast.arg):
            self._parameter(node, self._layout.defaults.get(node))
        elif isinstance(node, ast.Return):
            if function is not None and node.value is not None and self._holds(node.value):
                self._add(function)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                self._assign(target, node.value)
        elif isinstance(node, LOOPS) and isinstance(node.iter, (ast.Tuple, ast.List, ast.Set)):
            self._assign(node.target, None)

    def _parameter(self, node: ast.arg, default: ast.expr | None) -> None:
        if default is not None and self._holds(default):
            self._add(node.arg)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts: list[ast.expr | None] = [value] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                parts = list(value.elts)
            for one, part in zip(target.elts, parts, strict=True):
                self._assign(one, part)
        elif value is None or self._holds(value):
            if isinstance(target, ast.Name):
                self._add(target.id)
            elif isinstance(target, ast.Attribute):
                self._add(target.attr)

    def _holds(self, node: ast.expr) -> bool:
        """Whether a value may be a name of CUDA, or something of torch's that a rule looks for."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, str) and self._words.says(node.value)
        if isinstance(node, ast.Name):
            return self._says(node.id)
        if isinstance(node, ast.Attribute):
            return self._says(node.attr) or self._holds(node.value)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                if node.func.id not in _HANDS_ON:
                    return self._says(node.func.id)
            elif not isinstance(node.func, ast.Attribute):
                return False
            elif node.func.attr not in _HANDS_ON:
                return node.func.attr != "cuda" and self._says(node.func.attr)
        elif not isinstance(node, _HOLDERS):
            return False
        return any(self._holds(part) for part in _parts(node))

    def _says(self, name: str) -> bool:
        return name in self._names or self._words.says(name)

    def _add(self, name: str) -> None:
        if not self._says(name):
            self._names.add(name)
            self._new.append(name)


def _parts(node: ast.AST) -> list[ast.expr]:
    """The expressions directly in one."""
    found: list[ast.expr] = []
    for below in ast.iter_child_nodes(node):
        if isinstance(below, ast.expr):
            found.append(below)
        elif isinstance(below, ast.keyword):
            found.append(below.value)
    return found
