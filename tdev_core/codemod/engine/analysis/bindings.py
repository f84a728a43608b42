"""Defines what gives a name its meaning, and the scopes in which names have one.

A scope holds, for every name it binds, all the bindings in source order. Looking a name up
follows Python: the enclosing functions and the module, never an enclosing class, and in the
first scope that binds the name. :mod:`.scopes` fills them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import libcst as cst

BindingKind = Literal["import", "from", "value", "parameter", "definition", "other"]


@dataclass(eq=False)
class Binding:
    """One place that gives a name its meaning.

    ``node`` is the import alias, parameter, definition or target; ``value`` the assigned
    expression, if it is known; ``target`` the dotted name that an import binds.
    """

    name: str
    kind: BindingKind
    node: cst.CSTNode
    scope: Scope
    value: cst.BaseExpression | None = None
    target: str | None = None
    statement: cst.CSTNode | None = None
    used: set[str] = field(default_factory=set)
    """The rules that need this import to come from tdev."""


@dataclass(eq=False)
class Scope:
    """A module, class, function or comprehension and the names it binds."""

    node: cst.CSTNode
    parent: Scope | None
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    outer: dict[str, str] = field(default_factory=dict)
    """Names declared ``global`` or ``nonlocal`` here."""

    @property
    def is_class(self) -> bool:
        return isinstance(self.node, cst.ClassDef)

    @property
    def module(self) -> Scope:
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope

    def lookup(self, name: str) -> list[Binding]:
        """Return the bindings of ``name`` as seen from this scope; empty for builtins and unknowns."""
        scope: Scope | None = self
        first = True
        while scope is not None:
            if scope.outer.get(name) == "global":
                return scope.module.bindings.get(name, [])
            if (first or not scope.is_class) and name in scope.bindings:
                return scope.bindings[name]
            first = False
            scope = scope.parent
        return []
