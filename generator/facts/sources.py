"""Read modules as source text: what they import, define and assign, and where.

Live objects know their values, not how they were written. The text is the same for every Python
and every build, so that defaults, annotations and the origin of a re-exported name come from here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from generator.facts.functions import Function, FunctionNode, read_function
from generator.facts.scopes import Scope, absolute, read_scope
from generator.facts.text import Text, one_line

ROOTS = ("torch", "torchgen", "functorch")  # the packages of the torch wheel


_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")  # fields that hold statements


class Binding(NamedTuple):
    """One assignment of a module-level name; ``condition`` is the statement that guards it."""

    value: str | None
    condition: str | None = None


class Field(NamedTuple):
    """One annotated name in the body of a class, as ``dataclass`` and ``NamedTuple`` read it."""

    name: str
    annotation: str
    value: str | None


@dataclass(slots=True)
class Class:
    """The body of a class: its fields, the classes in it, and its methods with all overloads."""

    fields: list[Field] = field(default_factory=list)
    classes: dict[str, Class] = field(default_factory=dict)
    methods: dict[str, list[Function]] = field(default_factory=dict)


@dataclass
class ModuleSource:
    """The module-level names of one file, and every function in it by its first line.

    ``scope`` is what a type checker sees in the file.
    """

    name: str
    is_package: bool
    scope: Scope
    imports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    functions: dict[str, list[Function]] = field(default_factory=dict)
    classes: dict[str, Class] = field(default_factory=dict)
    assignments: dict[str, list[Binding]] = field(default_factory=dict)
    by_line: dict[tuple[int, str], Function] = field(default_factory=dict)
    conditions: dict[str, set[str]] = field(default_factory=dict)
    unconditional: set[str] = field(default_factory=set)

    @cached_property
    def public(self) -> frozenset[str]:
        """Every public name that the text binds: what ``import *`` could take from it."""
        names = (*self.imports, *self.functions, *self.classes, *self.assignments)
        return frozenset(name for name in names if not name.startswith("_"))

    @cached_property
    def versioned(self) -> frozenset[str]:
        """Public names that the text imports from elsewhere for some versions of Python only."""
        return frozenset(
            name
            for name in self.public & self.conditions.keys() - self.unconditional
            if len(self.conditions[name]) == 1
            and "sys.version_info" in min(self.conditions[name])
            and self.imports.get(name, "torch").partition(".")[0] not in ROOTS
        )

    def origin(self, name: str) -> str | None:
        """Dotted path that ``name`` stands for at module level; ``None`` for an unknown name."""
        if name in self.imports:
            return self.imports[name]
        if name in self.functions or name in self.classes or name in self.assignments:
            return f"{self.name}.{name}"
        return None


def parse(name: str, text: str, is_package: bool, stub: bool = False) -> ModuleSource:
    """Reduce the text of a module to its names and functions; ``SyntaxError`` if it has none."""
    tree = ast.parse(text)
    source = ModuleSource(name, is_package, read_scope(name, tree.body, is_package, stub))
    _Collector(source, Text(text), stub).collect(tree)
    return source


def read(name: str, path: str | Path, is_package: bool) -> ModuleSource:
    """Parse one file, a module or its stub."""
    text = Path(path).read_text(encoding="utf-8")
    return parse(name, text, is_package, stub=str(path).endswith(".pyi"))


def read_if_source(name: str, path: str, is_package: bool) -> ModuleSource | None:
    """``read``; ``None`` where the file is not Python source."""
    if not path.endswith((".py", ".pyi")):
        return None
    try:
        return read(name, path, is_package)
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None


class _Collector:
    def __init__(self, source: ModuleSource, text: Text, stub: bool) -> None:
        self.source, self.text, self.stub = source, text, stub
        self._read: dict[FunctionNode, Function] = {}

    def collect(self, tree: ast.Module) -> None:
        for node in _functions(tree):
            first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
            self.source.by_line[first, node.name] = self._function(node)
        self._statements(tree.body, None)

    def _function(self, node: FunctionNode) -> Function:
        if node not in self._read:
            self._read[node] = read_function(node, self.text)
        return self._read[node]

    def _statements(self, body: list[ast.stmt], condition: str | None) -> None:
        source = self.source
        for node in body:
            match node:
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    source.functions.setdefault(node.name, []).append(self._function(node))
                    self._bind(node.name, condition)
                case ast.ClassDef():
                    source.classes.setdefault(node.name, self._class(node))
                    self._bind(node.name, condition)
                case ast.Import() | ast.ImportFrom():
                    self._import(node, condition)
                case ast.Assign():
                    for target in node.targets:
                        self._assign(target, node.value, condition)
                case ast.AnnAssign():
                    # In a stub an annotation alone says that the name is there.
                    if node.value is not None or self.stub:
                        self._assign(node.target, node.value, condition)
                case ast.If():
                    test = one_line(self.text.of(node.test))
                    self._statements(node.body, condition or f"if {test}")
                    self._statements(node.orelse, condition or f"if not ({test})")
                case ast.Try():
                    caught = ", ".join(
                        one_line(self.text.of(item.type)) if item.type else "everything"
                        for item in node.handlers
                    )
                    label = f"try (except {caught})" if caught else condition
                    self._statements(node.body, condition or label)
                    for handler in node.handlers:
                        self._statements(handler.body, condition or f"except {caught}")
                    self._statements(node.orelse, condition or label)
                    self._statements(node.finalbody, condition)
                case ast.With():
                    self._statements(node.body, condition)
                case ast.For() | ast.While():
                    self._statements(node.body, condition or "a loop")
                case _:
                    pass  # binds no name

    def _class(self, node: ast.ClassDef) -> Class:
        found = Class()
        for item in node.body:
            match item:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=value):
                    text = self.text.of(value) if value else None
                    found.fields.append(Field(name, self.text.of(annotation), text))
                case ast.ClassDef():
                    found.classes.setdefault(item.name, self._class(item))
                case ast.FunctionDef() | ast.AsyncFunctionDef():
                    found.methods.setdefault(item.name, []).append(self._function(item))
                case _:
                    pass  # nothing that is asked about
        return found

    def _import(self, node: ast.Import | ast.ImportFrom, condition: str | None) -> None:
        source = self.source
        for alias in node.names:
            if isinstance(node, ast.Import):
                bound = alias.asname or alias.name.partition(".")[0]
                target = alias.name if alias.asname else bound
            else:
                base = absolute(source.name, source.is_package, node.level, node.module)
                if alias.name == "*":
                    source.stars.append(base)
                    continue
                bound, target = alias.asname or alias.name, f"{base}.{alias.name}"
            # The first binding wins: `try: from a import x / except: from b import x`.
            source.imports.setdefault(bound, target)
            self._bind(bound, condition)

    def _assign(self, target: ast.expr, value: ast.expr | None, condition: str | None) -> None:
        match target:
            case ast.Name():
                text = self.text.of(value) if value else None
                self._add(target.id, Binding(text, condition))
            case ast.Tuple() | ast.List():
                for item in target.elts:
                    if isinstance(item, ast.Name):
                        self._add(item.id, Binding(None, condition))
            case _:
                pass  # an attribute or an item: no new name

    def _add(self, name: str, binding: Binding) -> None:
        self.source.assignments.setdefault(name, []).append(binding)
        self._bind(name, binding.condition)

    def _bind(self, name: str, condition: str | None) -> None:
        if condition is None:
            self.source.unconditional.add(name)
        else:
            self.source.conditions.setdefault(name, set()).add(condition)


def _functions(tree: ast.Module) -> Iterator[FunctionNode]:
    """Yield every function, at any depth; they stand in statements only, so expressions need no visit."""
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, FunctionNode):
            yield node
        for block in _BLOCKS:
            if block in node._fields:
                stack += getattr(node, block)
