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

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Binding:
    """One assignment of a module-level name; ``condition`` is the statement that guards it."""

    value: ast.expr | None
    annotation: ast.expr | None = None
    condition: str | None = None


@dataclass
class ModuleSource:
    """The module-level names of one file, and every function in it by its first line."""

    name: str
    text: str
    is_package: bool
    imports: dict[str, str] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    functions: dict[str, list[FunctionNode]] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    assignments: dict[str, list[Binding]] = field(default_factory=dict)
    by_line: dict[tuple[int, str], FunctionNode] = field(default_factory=dict)
    conditions: dict[str, set[str]] = field(default_factory=dict)
    unconditional: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._lines = self.text.split("\n")

    def segment(self, node: ast.AST) -> str:
        """The node's own text, on one line (column offsets of ``ast`` count UTF-8 bytes)."""
        lineno, end_lineno = getattr(node, "lineno"), getattr(node, "end_lineno")  # noqa: B009
        start, end = getattr(node, "col_offset"), getattr(node, "end_col_offset")  # noqa: B009
        lines = [line.encode() for line in self._lines[lineno - 1 : end_lineno]]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][start:]
        return one_line(b"\n".join(lines).decode())

    @cached_property
    def public(self) -> frozenset[str]:
        """Every public name that the text binds: what ``import *`` could take from it."""
        names = (*self.imports, *self.functions, *self.classes, *self.assignments)
        return frozenset(name for name in names if not name.startswith("_"))

    def origin(self, name: str) -> str | None:
        """Dotted path that ``name`` stands for at module level; ``None`` for an unknown name."""
        if name in self.imports:
            return self.imports[name]
        if name in self.functions or name in self.classes or name in self.assignments:
            return f"{self.name}.{name}"
        return None


def one_line(text: str) -> str:
    """Join the lines of an expression; comments at line ends go."""
    if "\n" not in text:
        return text.strip()
    try:
        # Reprinting is the only safe way to drop comments and breaks inside brackets.
        return ast.unparse(ast.parse(text.strip(), mode="eval"))
    except SyntaxError:
        return " ".join(text.split())


def absolute(module: str, is_package: bool, level: int, target: str | None) -> str:
    """Full name of what ``from <level dots><target>`` means inside ``module``."""
    if not level:
        return target or ""
    parts = module.split(".")
    base = parts[: len(parts) - level + (1 if is_package else 0)]
    return ".".join(base + ([target] if target else []))


def read(name: str, path: str | Path, is_package: bool) -> ModuleSource:
    """Parse one file into its module-level names."""
    text = Path(path).read_text(encoding="utf-8").replace("\r\n", "\n")
    source = ModuleSource(name, text, is_package)
    tree = ast.parse(text)
    _collect(tree.body, source, None)
    for node in _functions(tree):
        first = min([node.lineno, *(item.lineno for item in node.decorator_list)])
        source.by_line[first, node.name] = node
    return source


def read_if_source(name: str, path: str, is_package: bool) -> ModuleSource | None:
    """``read``; ``None`` where the file is not Python source."""
    if not path.endswith(".py"):
        return None
    try:
        return read(name, path, is_package)
    except (OSError, SyntaxError, UnicodeDecodeError):
        return None


def _functions(tree: ast.AST) -> Iterator[FunctionNode]:
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, FunctionNode):
            yield node
        # Functions live in statements only, so expressions need no visit.
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
                stack.append(child)


def _bind(source: ModuleSource, name: str, condition: str | None) -> None:
    if condition is None:
        source.unconditional.add(name)
    else:
        source.conditions.setdefault(name, set()).add(condition)


def _collect(body: list[ast.stmt], source: ModuleSource, condition: str | None) -> None:
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                source.functions.setdefault(node.name, []).append(node)
                _bind(source, node.name, condition)
            case ast.ClassDef():
                source.classes.setdefault(node.name, node)
                _bind(source, node.name, condition)
            case ast.Import() | ast.ImportFrom():
                _collect_import(node, source, condition)
            case ast.Assign():
                for target in node.targets:
                    _assign(target, node.value, None, source, condition)
            case ast.AnnAssign():
                if node.value is not None:
                    _assign(node.target, node.value, node.annotation, source, condition)
            case ast.If():
                test = source.segment(node.test)
                _collect(node.body, source, condition or f"if {test}")
                _collect(node.orelse, source, condition or f"if not ({test})")
            case ast.Try():
                caught = ", ".join(
                    source.segment(item.type) if item.type else "everything"
                    for item in node.handlers
                )
                label = f"try (except {caught})" if caught else condition
                _collect(node.body, source, condition or label)
                for handler in node.handlers:
                    _collect(handler.body, source, condition or f"except {caught}")
                _collect(node.orelse, source, condition or label)
                _collect(node.finalbody, source, condition)
            case ast.With():
                _collect(node.body, source, condition)
            case ast.For() | ast.While():
                _collect(node.body, source, condition or "a loop")
            case _:
                pass  # binds no name


def _collect_import(
    node: ast.Import | ast.ImportFrom, source: ModuleSource, condition: str | None
) -> None:
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
        _bind(source, bound, condition)


def _assign(
    target: ast.expr,
    value: ast.expr,
    annotation: ast.expr | None,
    source: ModuleSource,
    condition: str | None,
) -> None:
    match target:
        case ast.Name():
            binding = Binding(value, annotation, condition)
            source.assignments.setdefault(target.id, []).append(binding)
            _bind(source, target.id, condition)
        case ast.Tuple() | ast.List():
            for item in target.elts:
                if isinstance(item, ast.Name):
                    source.assignments.setdefault(item.id, []).append(
                        Binding(None, None, condition)
                    )
                    _bind(source, item.id, condition)
        case _:
            pass  # an attribute or an item: no new name
