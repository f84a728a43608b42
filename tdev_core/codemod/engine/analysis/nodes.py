"""Walks libcst's nodes without their whitespace, and reads names and strings off them."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from functools import cache, lru_cache
from operator import attrgetter
from typing import Any

import libcst as cst

# Fields that hold whitespace or punctuation only: no expression is ever below them.
_PUNCTUATION = frozenset(
    "lpar rpar leading_lines lines_after_decorators header footer comma semicolon indent equal "
    "colon dot lbracket rbracket lbrace rbrace trailing_whitespace asynchronous star_etc_comma "
    "star posonly_ind first_colon second_colon newline comment bar separator ampersand "
    "relative empty_lines".split()
)


@cache
def _is_node(kind: type) -> bool:
    return issubclass(kind, cst.CSTNode)


_Values = Callable[[cst.CSTNode], "tuple[object, ...]"]


@cache
def _values(kind: type[cst.CSTNode]) -> _Values | None:
    """Return a function for the fields of this type of node that can hold code; None if it has none."""
    names = [
        f.name
        for f in dataclasses.fields(kind)
        if f.name not in _PUNCTUATION
        and not f.name.startswith("whitespace")
        and f.type not in ("str", str)
    ]
    if not names:
        return None
    # A second field, never a node, makes the answer a tuple where there is only one.
    return attrgetter(*names, "__doc__") if len(names) == 1 else attrgetter(*names)


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return the nodes directly below ``node`` that can hold code, in source order."""
    values = _values(type(node))
    found: list[Any] = []
    if values is not None:
        for value in values(node):
            # Asking for the class is several times faster than isinstance, which libcst's
            # abstract base classes answer in Python.
            if value is None:
                continue
            kind: Any = value.__class__
            if kind is tuple or kind is list:
                found += [item for item in value if _is_node(item.__class__)]  # type: ignore[attr-defined]
            elif _is_node(kind):
                found.append(value)
    return found


def descendants(node: cst.CSTNode) -> list[cst.CSTNode]:
    """Return a node and all below it, in no particular order."""
    found, stack = [], [node]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(children(current))
    return found


def dotted(node: cst.CSTNode) -> str | None:
    """``a.b.c`` for a chain of attributes on a name, else None."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    if not isinstance(node, cst.Name):
        return None
    parts.append(node.value)
    return ".".join(reversed(parts))


def string_value(node: cst.CSTNode) -> str | None:
    """Return the value of a plain string literal (not bytes, not an f-string), else None."""
    if isinstance(node, cst.SimpleString):
        return None if "b" in node.prefix.lower() else _evaluated(node.value)
    if isinstance(node, cst.ConcatenatedString):
        joined = node.evaluated_value
        return joined if isinstance(joined, str) else None
    return None


@lru_cache(maxsize=4096)
def _evaluated(literal: str) -> str | None:
    value = ast.literal_eval(literal)
    return value if isinstance(value, str) else None
