"""Which names hold CUDA's name, what a person typed, or a name of torch, and what makes one hold it.

Such a name is the only way for a rule to start from a statement without one of its words: it is
handed to a call (``build(x, WHERE)``), called (``stream = make()``), or unpacked (``**given``).
Which expressions can be one is what :mod:`.flow` and :mod:`.resolve` say, taken by the syntax alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from tdev_core.codemod.engine.slicing.layout import (
    FUNCTIONS,
    Layout,
    Unit,
    chain_root,
    in_class,
    own_attribute,
    parameters,
)
from tdev_core.codemod.engine.slicing.seeds import Words, may_go_on, places

# Before an attribute of `self` or `cls`, or of what ends further to the left.
_OWN = re.compile(r"(self|cls|^|[^\w)\]}\"'])\.\Z")


class Held(NamedTuple):
    """A name, or an attribute of that name, and the function outside which it means something else."""

    name: str
    attribute: bool
    home: Unit | None

    def places(self, layout: Layout) -> Iterator[int]:
        """The offset of each use, and of what may be one."""
        source, start, end = layout.source, 0, len(layout.source)
        if self.home is not None:
            assert isinstance(self.home.node, ast.stmt)
            start, end = self.home.start, layout.end(self.home.node)
        for at in places(source, self.name, start, end):
            if source[at - 1 : at] != ".":
                if not self.attribute or may_go_on(source, at):
                    yield at
            elif self.attribute and _OWN.search(source, max(0, at - 5), at):
                yield at


class Holders:
    """The names that are known to hold one; more with each statement that is looked at."""

    def __init__(self, words: Words, layout: Layout) -> None:
        self._words = words
        self._layout = layout
        self._names: set[str] = set()
        self._known: set[Held] = set()
        self._new: list[Held] = []
        self._unit: Unit

    def learn(self, unit: Unit) -> list[Held]:
        """The names that hold one by this statement, which holds a rule's word or such a name."""
        self._new = []
        self._unit = unit
        self._statement(unit.node, unit.function)
        if isinstance(unit.node, ast.Match):
            self._below(unit.node, unit.function)
        if self._layout.names_inside(unit):
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
                self._add(function, anywhere=True)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                self._assign(target, node.value)

    def _parameter(self, node: ast.arg, default: ast.expr | None) -> None:
        if default is not None and self._holds(default):
            self._add(node.arg)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            # What is unpacked from anything else but a list is not known to be anything.
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                for one, part in zip(target.elts, value.elts, strict=True):
                    self._assign(one, part)
        elif value is not None and self._holds(value):
            if isinstance(target, ast.Name):
                self._add(target.id)
                if in_class(self._unit) or isinstance(self._unit.node, ast.Match):
                    self._add(target.id, attribute=True)
            elif isinstance(target, ast.Attribute) and own_attribute(target):
                self._add(target.attr, attribute=True)

    def _holds(self, node: ast.expr) -> bool:
        """Whether a value may be a name of CUDA, what was typed, or a name of torch's with a word.

        Never less than what the rules may take it for, and not much more: a sum or an item of a
        list is not known to be anything, and what a method returns neither.
        """
        if isinstance(node, ast.Constant):
            return self._key(node) and " " not in str(node.value)  # which prose has
        if isinstance(node, ast.Name):
            return self._says(node.id)
        if isinstance(node, ast.Attribute):
            return self._says(node.attr) or self._of_torch(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.IfExp):
            return self._holds(node.body) or self._holds(node.orelse)
        if isinstance(node, ast.BoolOp):
            return any(self._holds(part) for part in node.values)
        if isinstance(node, ast.NamedExpr):
            return self._holds(node.value)
        if isinstance(node, ast.BinOp):  # "cuda:%d" % n
            return isinstance(node.left, ast.Constant) and self._holds(node.left)
        if isinstance(node, ast.JoinedStr):
            return bool(node.values) and self._holds(node.values[0])
        if isinstance(node, ast.Dict):
            return any(key is not None and self._key(key) for key in node.keys)
        return isinstance(node, ast.Subscript) and self._key(node.slice)

    def _call(self, node: ast.Call) -> bool:
        func = node.func
        if isinstance(func, ast.Name):
            if func.id == "str":
                return any(self._holds(part) for part in node.args)
            if func.id == "dict":
                return any(k.arg is not None and self._words.says(k.arg) for k in node.keywords)
            return self._says(func.id)
        if not isinstance(func, ast.Attribute):
            return False
        if func.attr == "format":
            return self._holds(func.value)
        return self._of_torch(func)  # torch.device("cuda"), which as a default stays what it is

    def _of_torch(self, node: ast.expr) -> bool:
        """Whether this is a name in one of torch's modules, with a word in it."""
        if chain_root(node) not in self._layout.imported:
            return False
        while isinstance(node, ast.Attribute):
            if self._says(node.attr):
                return True
            node = node.value
        return isinstance(node, ast.Name) and self._says(node.id)

    def _key(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and self._words.says(node.value)
        )

    def _says(self, name: str) -> bool:
        return name in self._names or self._words.says(name)

    def _add(self, name: str, *, attribute: bool = False, anywhere: bool = False) -> None:
        if self._words.says(name):
            return  # found by its own word
        home = None if attribute or anywhere else self._layout.home(name, self._unit)
        held = Held(name, attribute, home)
        if held not in self._known:
            self._known.add(held)
            self._names.add(name)
            self._new.append(held)
