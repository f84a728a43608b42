"""Divides a file into device flows: what changes together, or stays together.

A unit is a function or a class at the margin of a file, or all that stands outside of them. Two units are of one
flow where one reaches the other by its name, or a third reaches both: what the one has made may come to the other.
Only units in which something changes, or which goes on naming CUDA, are looked at; what lies between hands on.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tdev_core.codemod.engine.file import Change, File
from tdev_core.codemod.engine.links import OUTSIDE
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.tree import PythonTree


@dataclass(eq=False)
class Unit:
    """A function, a class, or what stands outside of them; ``spans`` are its lines."""

    name: str
    nodes: list[ast.stmt]
    spans: list[Span] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def holds(self, at: int) -> bool:
        return any(low <= at < high for low, high in self.spans)


def units_of(file: File, python: PythonTree) -> list[Unit]:
    """Return the units of a file, with what is planned in each."""
    tree, at = file.tree, 0
    outside = Unit(OUTSIDE, [])
    units = [outside]
    for node in python.module.body:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            outside.nodes.append(node)
            continue
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        low, last = tree.line_start(first), node.end_lineno or node.lineno
        high = tree.line_start(last) + len(tree.line_text(last))
        outside.spans.append((at, low))
        units.append(Unit(node.name, [node], [(low, high)]))
        at = high
    outside.spans.append((at, len(tree.source) + 1))
    places = sorted((low, index) for index, unit in enumerate(units) for low, _ in unit.spans)
    for change in sorted(file.changes.values(), key=lambda c: c.start):
        # Every character is of one unit: it is that of the last span that starts before it.
        _, index = places[bisect_right(places, (change.start, len(units))) - 1]
        units[index].changes.append(change)
    return units


class Links:
    """Links between the units of a file: who reaches whom by a name."""

    def __init__(self, units: list[Unit], counts: Callable[[ast.stmt], bool]) -> None:
        """Read the names; ``counts`` tells which statements outside of functions bind what matters."""
        self._units = units
        bound: dict[str, Unit] = {u.name: u for u in units[1:]}
        for statement in units[0].nodes:
            if counts(statement):
                bound.update(dict.fromkeys(_targets(statement), units[0]))
        for unit in units[1:]:
            # What a function sets outside of functions comes from it.
            bound.update(dict.fromkeys(_set_outside(unit), unit))
        self._reached: dict[int, set[int]] = {}
        number = {id(unit): index for index, unit in enumerate(units)}
        for index, unit in enumerate(units):
            names = {n.id for s in unit.nodes for n in ast.walk(s) if isinstance(n, ast.Name)}
            near = {number[id(bound[name])] for name in names if name in bound}
            self._reached[index] = {*near, index}
        self._close()

    def _close(self) -> None:
        todo = True
        while todo:
            todo = False
            for index, near in self._reached.items():
                # What a function takes from outside of all functions is a variable: it calls nothing.
                far = set(near).union(*(self._reached[n] for n in near if n != 0 or index == 0))
                if far != near:
                    self._reached[index] = far
                    todo = True

    def flows(self, members: Iterable[Unit]) -> list[list[Unit]]:
        """Return the members in groups: two are together where one unit of the file reaches both."""
        wanted = set(members)
        inside = [index for index, unit in enumerate(self._units) if unit in wanted]
        group = {index: index for index in inside}

        def root(index: int) -> int:
            while group[index] != index:
                index = group[index]
            return index

        for reached in self._reached.values():
            together = sorted(reached & group.keys())
            for index in together[1:]:
                group[root(index)] = root(together[0])
        flows: dict[int, list[Unit]] = {}
        for index in inside:
            flows.setdefault(root(index), []).append(self._units[index])
        return list(flows.values())


def _set_outside(unit: Unit) -> set[str]:
    """Return the variables of the module that a unit sets: ``global world_size``."""
    return {
        name
        for statement in unit.nodes
        for node in ast.walk(statement)
        if isinstance(node, ast.Global)
        for name in node.names
    }


def _targets(statement: ast.stmt) -> set[str]:
    """Return the names that a statement binds, in its arms as well."""
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
