"""Follows names that hold CUDA's name, what a person typed, or a name of torch: taint propagation.

A tainted name is the only way for a rule to start from a statement without one of its words: the name
is handed to a call (``build(x, WHERE)``), called (``stream = make()``), or unpacked (``**given``), also of one
that is asked for a device. What taints one is what :mod:`..analysis.flow` and :mod:`..analysis.resolve` follow, taken by syntax alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from tdev_core.codemod.engine.slicing.layout import Layout, Unit, in_class
from tdev_core.codemod.engine.slicing.lexical import continues_a_line, occurrences
from tdev_core.codemod.engine.slicing.seeds import Seeds
from tdev_core.codemod.engine.slicing.syntax import (
    FUNCTIONS,
    chain_root,
    own_attribute,
    parameters,
)

# Before an attribute of `self` or `cls`, or of what ends further to the left.
_OWN = re.compile(r"(self|cls|^|[^\w)\]}\"'])\.\Z")


# `kwargs.get("device")`
_ASKED = re.compile(r"(?<![\w.])(\w+)(?:\.get\(\s*|\[)[\"'](?:device|map_location)[\"']")


class Tainted(NamedTuple):
    """A name, or an attribute of that name, and the function outside which it means something else."""

    name: str
    attribute: bool
    home: Unit | None

    def uses(self, layout: Layout) -> Iterator[int]:
        """Yield the offset of each use, and of what may be one."""
        source, start, end = layout.source, 0, len(layout.source)
        if self.home is not None:
            assert isinstance(self.home.node, ast.stmt)
            start, end = self.home.start, layout.end(self.home.node)
        for at in occurrences(source, self.name, start, end):
            if source[at - 1 : at] != ".":
                if not self.attribute or continues_a_line(source, at):
                    yield at
            elif self.attribute and _OWN.search(source, max(0, at - 5), at):
                yield at


class Taint:
    """The names that are tainted so far; more with each statement that is looked at."""

    def __init__(self, seeds: Seeds, layout: Layout) -> None:
        self._seeds = seeds
        self._layout = layout
        self._names: set[str] = set()
        self._known: set[Tainted] = set()
        self._new: list[Tainted] = []
        self._unit: Unit

    def through(self, unit: Unit) -> list[Tainted]:
        """Return the names that become tainted by this statement, which holds a seed or a tainted name."""
        self._new = []
        self._unit = unit
        self._statement(unit.node, unit.function)
        if isinstance(unit.node, ast.Match):
            self._inside(unit.node, unit.function)
        source = self._layout.source
        for start, end in unit.texts:
            for asked in _ASKED.finditer(source, start, end):
                if f"**{asked[1]}" in source:  # what is unpacked then may hold a device
                    self._taint(asked[1])
        if self._layout.names_inside(unit):
            for part in ast.walk(unit.node):
                if isinstance(part, ast.NamedExpr):
                    self._assign(part.target, part.value)
        return self._new

    # -- statements, by what they bind ----------------------------------------------------

    def _statement(self, node: ast.AST, function: str | None) -> None:
        match node:
            case ast.Import() | ast.ImportFrom():
                for name in self._seeds.imported(node):
                    self._taint(name)
            case ast.arg():
                self._parameter(node, self._layout.defaults.get(node))
            case ast.Return(value=ast.expr() as value):
                if function is not None and self._is_tainted(value):
                    self._taint(function, anywhere=True)
            case ast.Assign():
                for target in node.targets:
                    self._assign(target, node.value)
            case ast.AnnAssign():
                self._assign(node.target, node.value)
            case _:
                pass

    def _inside(self, node: ast.AST, function: str | None) -> None:
        """Do the same for the statements in one that is a unit with all its blocks."""
        for part in ast.iter_child_nodes(node):
            if not isinstance(part, (ast.stmt, ast.match_case, ast.ExceptHandler)):
                continue
            self._statement(part, function)
            own = function
            if isinstance(part, FUNCTIONS):
                own = part.name
                for argument, default in parameters(part.args):
                    self._parameter(argument, default)
            self._inside(part, own)

    def _parameter(self, node: ast.arg, default: ast.expr | None) -> None:
        if default is not None and self._is_tainted(default):
            self._taint(node.arg)

    def _assign(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            # What is unpacked from anything else but a list is not known to be anything.
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                for one, part in zip(target.elts, value.elts, strict=True):
                    self._assign(one, part)
        elif value is not None and self._is_tainted(value):
            if isinstance(target, ast.Name):
                self._taint(target.id)
                if in_class(self._unit) or isinstance(self._unit.node, ast.Match):
                    self._taint(target.id, attribute=True)
            elif isinstance(target, ast.Attribute) and own_attribute(target):
                self._taint(target.attr, attribute=True)

    # -- expressions ----------------------------------------------------------------------

    def _is_tainted(self, node: ast.expr) -> bool:
        """Tell whether a value may be a name of CUDA, what was typed, or a name of torch's with a seed.

        Never less than what the rules may take it for, and not much more: a sum or an item of a
        list is not known to be anything, and what a method returns neither.
        """
        match node:
            case ast.Constant():
                return self._is_seed_text(node) and " " not in str(node.value)  # which prose has
            case ast.Name():
                return self._is_tainted_name(node.id)
            case ast.Attribute():
                return self._is_tainted_name(node.attr) or self._is_of_torch(node)
            case ast.Call():
                return self._is_tainted_call(node)
            case ast.IfExp():
                return self._is_tainted(node.body) or self._is_tainted(node.orelse)
            case ast.BoolOp():
                return any(self._is_tainted(part) for part in node.values)
            case ast.NamedExpr():
                return self._is_tainted(node.value)
            case ast.BinOp(left=ast.Constant() as left):  # "cuda:%d" % n
                return self._is_tainted(left)
            case ast.JoinedStr(values=[first, *_]):
                return self._is_tainted(first)
            case ast.Dict():
                return any(key is not None and self._is_seed_text(key) for key in node.keys)
            case ast.Subscript():
                return self._is_seed_text(node.slice)
            case _:
                return False

    def _is_tainted_call(self, node: ast.Call) -> bool:
        match node.func:
            case ast.Name(id="str"):
                return any(self._is_tainted(part) for part in node.args)
            case ast.Name(id="dict"):
                return any(k.arg is not None and self._seeds.is_seed(k.arg) for k in node.keywords)
            case ast.Name(id=name):
                return self._is_tainted_name(name)
            case ast.Attribute(attr="format", value=text):
                return self._is_tainted(text)
            case ast.Attribute() as method:
                # torch.device("cuda"), which as a default stays what it is
                return self._is_of_torch(method)
            case _:
                return False

    def _is_of_torch(self, node: ast.expr) -> bool:
        """Tell whether this is a name in one of torch's modules, with a seed in it."""
        if chain_root(node) not in self._layout.imported:
            return False
        while isinstance(node, ast.Attribute):
            if self._is_tainted_name(node.attr):
                return True
            node = node.value
        return isinstance(node, ast.Name) and self._is_tainted_name(node.id)

    def _is_seed_text(self, node: ast.expr) -> bool:
        return (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and self._seeds.is_seed(node.value)
        )

    def _is_tainted_name(self, name: str) -> bool:
        return name in self._names or self._seeds.is_seed(name)

    def _taint(self, name: str, *, attribute: bool = False, anywhere: bool = False) -> None:
        if self._seeds.is_seed(name):
            return  # found by its own word
        home = None if attribute or anywhere else self._layout.home(name, self._unit)
        tainted = Tainted(name, attribute, home)
        if tainted not in self._known:
            self._known.add(tainted)
            self._names.add(name)
            self._new.append(tainted)
