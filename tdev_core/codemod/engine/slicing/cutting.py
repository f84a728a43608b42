"""Cuts what is not marked out of a text: runs of statements, holes in others, unused list items.

A cut leaves ``pass``, an expression of the same kind, or nothing, so that the rest parses as before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tdev_core.codemod.engine.slicing.layout import Layout, Unit
from tdev_core.codemod.engine.slicing.marking import Holes
from tdev_core.codemod.engine.slicing.seeds import Seeds
from tdev_core.codemod.engine.slicing.skeleton import Hole, imported, parameter
from tdev_core.codemod.engine.slicing.syntax import BLOCKS, is_docstring

PLACEHOLDER = "pass"

Cut = tuple[int, int, str]
"""Start and end of a span that goes, and what stands there instead."""


class Cutter:
    """Collects the cuts of one file, once its units are marked."""

    def __init__(self, layout: Layout, seeds: Seeds) -> None:
        self.left_out: list[ast.AST] = []
        """The nodes of what goes."""
        self._source = layout.source
        self._layout = layout
        self._seeds = seeds
        self._cuts: list[Cut] = []

    def cuts(self, body: list[ast.stmt], holes: Holes) -> tuple[Cut, ...]:
        """Return the cuts in a file with this body, in order."""
        self._block(body)
        for some in holes.values():
            self._punch(some)
        self._shorten_lists()
        return tuple(sorted(self._cuts))

    # -- statements -----------------------------------------------------------------------

    def _block(self, body: list[ast.stmt]) -> None:
        units = [self._layout.unit_of[node] for node in body]
        if units and is_docstring(body[0]):
            # What is put at the start of a block goes below it.
            units[0].kept = any(unit.kept for unit in units)
        run: list[ast.stmt] = []
        before: ast.stmt | None = None
        for node, unit in zip(body, units, strict=True):
            if not unit.kept:
                run.append(node)
                continue
            whole, beside = self._split(run, unit)
            if beside or not self._take_out(before, run, unit):
                self._replace(whole)
                self._replace(beside)
                self._take_out_lines(run[-1] if run else before, unit)
            run, before = [], node
            if not isinstance(node, BLOCKS):
                continue
            self._block(node.body)
            for handler in getattr(node, "handlers", ()):
                self._block(handler.body)
            self._block(getattr(node, "orelse", []))
            self._block(getattr(node, "finalbody", []))
        self._replace(run)

    def _split(self, run: list[ast.stmt], after: Unit) -> tuple[list[ast.stmt], list[ast.stmt]]:
        """Part a run from its statements on the line of the one after it, which starts where that line does."""
        start, at = after.start, len(run)
        while at and "\n" not in self._source[self._layout.end(run[at - 1]) : start]:
            at -= 1
            start = self._layout.unit_of[run[at]].start
        return run[:at], run[at:]

    def _replace(self, run: list[ast.stmt]) -> None:
        """Put a placeholder where a run stands, if that is shorter."""
        if run:
            start, end = self._layout.unit_of[run[0]].start, self._layout.end(run[-1])
            if end - start > 2 * len(PLACEHOLDER):
                self._cuts.append((start, end, PLACEHOLDER))
                self.left_out += run

    def _take_out(self, before: ast.stmt | None, run: list[ast.stmt], after: Unit) -> bool:
        """Take a run out with nothing in its place, where that makes no difference to a rule.

        It does at the start and at the end of a block, and where two tests would become neighbours.
        """
        if not run or before is None or is_docstring(before) or after.parent is None:
            return False
        if isinstance(before, ast.If) and isinstance(after.node, ast.If):
            return False
        start = self._layout.unit_of[run[0]].start
        if self._source[self._source.rfind("\n", 0, start) + 1 : start].strip():
            return False  # on the line of the statement before it
        self._cuts.append((start, after.start, ""))
        self.left_out += run
        return True

    def _take_out_lines(self, before: ast.stmt | None, after: Unit) -> None:
        """Take out the lines between two statements of a block: comments, and empty ones."""
        if before is None:
            return
        start = self._source.find("\n", self._layout.end(before), after.start) + 1
        end = self._source.rfind("\n", start, after.start) + 1
        if 0 < start < end:
            self._cuts.append((start, end, ""))

    # -- parts of statements ----------------------------------------------------------------

    def _shorten_lists(self) -> None:
        """Cut parameters and imported names that nothing mentions."""
        for unit in self._layout.units:
            node = unit.node
            if isinstance(node, ast.arg):
                if not unit.kept and unit.parent is not None and unit.parent.kept:
                    self._punch([parameter(node, self._layout)])
            elif isinstance(node, ast.ImportFrom) and not self._concerns_a_rule(unit, node):
                self._punch(imported(node, unit.scope.live, self._layout))

    def _concerns_a_rule(self, unit: Unit, node: ast.ImportFrom) -> bool:
        """Tell whether a rule may look at an import's names by themselves."""
        package = (node.module or "").partition(".")[0]
        text = self._source[unit.start : unit.end]
        return package in ("torch", "tdev", "numba", "apex", "flash_attn") or self._seeds.is_seed(
            text
        )

    def _punch(self, holes: Iterable[Hole]) -> None:
        for hole in holes:
            self._cuts.append((hole.start, hole.end, hole.text))
            self.left_out += hole.nodes
