"""Finds what of a statement can go although the statement stays for what it binds.

Where no rule starts from a statement, rules look at it for one thing: of which kind a name is that
it binds (:mod:`..analysis.flow`). ``x = model(batch, mask=a + b)`` says as much without the arguments, and a
test or a loop's iterable says nothing. What goes are *holes*; what stands in for one has the same
kind.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator
from typing import NamedTuple

from tdev_core.codemod.engine.slicing.layout import Layout, Span, Unit
from tdev_core.codemod.engine.slicing.syntax import FUNCTIONS, LOOPS, WITHS

ANYTHING = "..."
"""An expression of which nothing is known, as of the one that it stands for."""
_CONSTANT = "[]"
"""One that is certainly no device."""

_CONSTANTS = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.Lambda)
# The kind of these calls is that of what they are given.
_ASKED = frozenset({"str", "next"})
_COMMA = re.compile(r"(?:\s|#[^\n]*\n)*,(?:\s|#[^\n]*\n)*(?=[^\W\d])")
_OPEN = re.compile(r"(?:[)\s\\]|#[^\n]*\n)*\(")


class Hole(NamedTuple):
    """A span that goes, what stands there instead, and the nodes that were there."""

    start: int
    end: int
    text: str
    nodes: tuple[ast.AST, ...]


class Skeleton(NamedTuple):
    """A statement's holes, and the spans of it that still mention names."""

    holes: list[Hole]
    read: list[Span]


def skeleton(unit: Unit, layout: Layout) -> Skeleton | None:
    """For a statement, or a header, that no rule starts from; None for one that must stay whole."""
    node = unit.node
    if layout.names_inside(unit):
        return None
    if isinstance(node, FUNCTIONS):
        away = [*node.decorator_list, *([node.returns] if node.returns is not None else [])]
    elif isinstance(node, ast.ClassDef):
        away = [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
    elif isinstance(node, (ast.If, ast.While)):
        away = [node.test]
    elif isinstance(node, LOOPS):
        away = [node.iter]
    elif isinstance(node, WITHS):
        away = [item.context_expr for item in node.items]
    elif isinstance(node, ast.AugAssign):
        away = [node.value]
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return)):
        if node.value is None:
            return Skeleton([], [])
        unpacked = isinstance(node, ast.Assign) and any(
            isinstance(target, (ast.Tuple, ast.List)) for target in node.targets
        )
        holes = list(_value(node.value, layout, unpacked))
        return Skeleton(holes, _between(layout.span(node.value), holes))
    else:
        return None
    return Skeleton([_hole(expression, ANYTHING, layout) for expression in away], [])


def parameter(node: ast.arg, layout: Layout) -> Hole:
    """Return a parameter that nothing mentions, with its comma; what it says, where it is the last one, or a star's."""
    unit, default = layout.unit_of[node], layout.defaults.get(node)
    nodes = tuple(part for part in (node.annotation, default) if part is not None)
    start = layout.offset(node.lineno, node.col_offset)
    said = Hole(unit.start, unit.end, "" if default is None else "=None", nodes)
    if layout.source[max(0, start - 80) : start].rstrip().endswith("*"):
        return said  # the next one would become the star's: `*given: int, out=None`
    return _listed(start, unit.end, nodes, layout) or said


def imported(node: ast.ImportFrom, live: Container[str], layout: Layout) -> Iterator[Hole]:
    """Yield the names of an import that nothing mentions, but for the last."""
    for alias in node.names[:-1]:
        if (alias.asname or alias.name) not in live:
            start, end = layout.span(alias)
            hole = _listed(start, end, (), layout)
            if hole is not None:
                yield hole


def _listed(start: int, end: int, nodes: tuple[ast.AST, ...], layout: Layout) -> Hole | None:
    """Return an item of a list and all before the next item, if that is a name."""
    gap = _COMMA.match(layout.source, end)
    return Hole(start, gap.end(), "", nodes) if gap else None


def _value(node: ast.expr, layout: Layout, unpacked: bool = False) -> Iterator[Hole]:
    """Yield the holes of a value, in order."""
    if isinstance(node, ast.Name):
        return
    if isinstance(node, ast.Constant):
        if isinstance(node.value, str) and len(node.value) > len(_CONSTANT):
            yield _hole(node, _CONSTANT, layout)
    elif isinstance(node, ast.Attribute):
        yield from _value(node.value, layout)
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name) and node.func.id in _ASKED:
            return
        yield from _value(node.func, layout)
        if node.args or node.keywords:
            yield _arguments(node, layout)
    elif isinstance(node, ast.IfExp):
        yield from _value(node.body, layout)
        yield _hole(node.test, ANYTHING, layout)
        yield from _value(node.orelse, layout)
    elif isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        for part in node.values:
            yield from _value(part, layout)
    elif unpacked and isinstance(node, (ast.Tuple, ast.List)):
        for part in node.elts:
            if isinstance(part, ast.Starred):
                part = part.value
            yield from _value(part, layout)
    else:
        constant = isinstance(node, _CONSTANTS)
        yield _hole(node, _CONSTANT if constant else ANYTHING, layout)


def _arguments(node: ast.Call, layout: Layout) -> Hole:
    opened = _OPEN.match(layout.source, layout.end(node.func))
    start = opened.end() if opened else layout.end(node.func)
    return Hole(start, layout.end(node) - 1, "", (*node.args, *node.keywords))


def _hole(node: ast.expr, text: str, layout: Layout) -> Hole:
    return Hole(*layout.span(node), text, (node,))


def _between(span: Span, holes: list[Hole]) -> list[Span]:
    """Return the parts of a span between its holes."""
    spans, at = [], span[0]
    for hole in holes:
        spans.append((at, hole.start))
        at = hole.end
    return [*spans, (at, span[1])]
