"""Marks what has to stay of a file for the rules to see the same: a backward slice from the seeds.

A worklist that ends when nothing new is marked:

1. *Seeds.* A statement that holds a word from which a rule starts (:mod:`.seeds`) stays whole.
2. *Taint.* What it binds to such a value is followed (:mod:`.taint`): a statement that uses the name
   stays whole too.
3. *Dependences.* Text that stays makes the names in it live. What defines a live name, sets a live
   attribute of ``self``, or returns from a function that is called, stays as well, but no more of it
   than says of which kind the value is (:mod:`.skeleton`).
4. *Structure.* So do the headers of the blocks around what stays, and the tests beside a test.

Names are live within one outermost function for its own variables, and over the whole file for all
else: that keeps too much rather than too little.
"""

from __future__ import annotations

import ast
import bisect
from collections.abc import Iterable

from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.slicing.layout import Layout, Scope, Unit
from tdev_core.codemod.engine.slicing.lexical import (
    attributes_in,
    called_in,
    is_foreign_method,
    names_in,
    object_of_device,
)
from tdev_core.codemod.engine.slicing.seeds import Seeds
from tdev_core.codemod.engine.slicing.skeleton import Hole, skeleton
from tdev_core.codemod.engine.slicing.syntax import (
    BLOCKS,
    FUNCTIONS,
    LEAVES,
    is_prose,
    only_if,
)
from tdev_core.codemod.engine.slicing.taint import Taint

Holes = dict[Unit, list[Hole]]
"""The parts that may go of statements that stay for what they define."""

# Anything else (an import, `global`, what a later Python has) stays.
_MAY_GO = (*BLOCKS, *LEAVES, ast.ExceptHandler, ast.arg)


def mark(layout: Layout, seeds: Seeds, known: Known) -> Holes:
    """Set ``kept`` and ``whole`` of the units that stay."""
    return _Marker(layout, seeds, known).run()


class _Marker:
    def __init__(self, layout: Layout, seeds: Seeds, known: Known) -> None:
        self._source = layout.source
        self._known = known
        self._layout = layout
        self._seeds = seeds
        self._starts = [unit.start for unit in layout.units]
        self._taint = Taint(seeds, layout)
        self._holes: Holes = {}
        self._todo: list[tuple[Unit, bool]] = []
        """Units to keep, and whether a rule may start from them: then all of one stays."""
        self._to_follow: set[Unit] = set()
        """Those of them whose effects on others are still to be followed."""

    def run(self) -> Holes:
        layout = self._layout
        for at in self._seeds.words_in(self._source):
            owner = object_of_device(self._source, at, layout.imported)
            if not owner or self._known.may_keep_a_word(
                owner, "device", self._source, self._source
            ):
                self._start_at(at)
        for at in self._seeds.functions_in(self._source):
            if not is_foreign_method(self._source, at, layout.imported):
                self._start_at(at)
        for unit in layout.units:
            if not isinstance(unit.node, _MAY_GO):
                self._todo.append((unit, False))
        # Rules look these up where no text mentions them, for a name that stands for torch or tdev.
        for scope in (layout.file, *layout.functions):
            self._make_live(scope, layout.imported)
        while self._todo:
            self._keep(*self._todo.pop())
        return self._holes

    def _start_at(self, place: int) -> None:
        """Have the innermost unit around an offset kept as one that a rule may start from."""
        index = bisect.bisect_right(self._starts, place) - 1
        unit = self._layout.units[index] if index >= 0 else None
        while unit is not None and place >= unit.end:
            unit = unit.parent
        if unit is None or unit in self._to_follow or is_prose(unit.node):
            return
        if isinstance(unit.node, FUNCTIONS):
            if not any(start <= place < end for start, end in unit.texts):
                # In a name: that of the function may be asked for, a parameter's own says nothing.
                if "(" not in self._source[unit.start : place]:
                    self._todo.append((unit, False))
                return
        self._to_follow.add(unit)
        self._todo.append((unit, True))

    def _keep(self, unit: Unit, starts_a_rule: bool) -> None:
        if starts_a_rule:  # again for each name in it that turns out to be tainted
            self._to_follow.discard(unit)
            self._follow(unit)
        if unit.whole or (unit.kept and not starts_a_rule):
            return
        if not unit.kept:
            unit.kept = True
            self._keep_around(unit)
        left = None if starts_a_rule else skeleton(unit, self._layout)
        if left is None:
            unit.whole = True
            self._holes.pop(unit, None)
        else:
            self._holes[unit] = left.holes
        for start, end in unit.texts if left is None else left.read:
            self._mention(self._source[start:end], unit.scope)

    def _follow(self, unit: Unit) -> None:
        """Keep what depends on a statement that a rule may start from."""
        if isinstance(unit.node, ast.If):
            self._keep_beside(unit)
        for tainted in self._taint.through(unit):
            for at in tainted.uses(self._layout):
                self._start_at(at)

    # -- what a unit that stays depends on --------------------------------------------------

    def _keep_around(self, unit: Unit) -> None:
        """Keep what a unit needs to be where it is: its block's header, the ``elif`` behind an ``if``."""
        if unit.parent is not None and not unit.parent.kept:
            self._todo.append((unit.parent, False))
        if isinstance(unit.node, ast.If) and only_if(unit.node.orelse):
            self._todo.append((self._layout.unit_of[unit.node.orelse[0]], False))

    def _keep_beside(self, unit: Unit | None) -> None:
        """Keep the tests beside one that matters, which may ask for another accelerator."""
        while unit is not None:
            for node in self._layout.beside.get(unit.node, ()):
                self._todo.append((self._layout.unit_of[node], False))
            above = unit.parent
            head = above.node if above is not None else None
            unit = above if isinstance(head, ast.If) and only_if(head.orelse) else None

    def _mention(self, text: str, scope: Scope) -> None:
        """Make the names live that a text mentions in a scope."""
        layout = self._layout
        names = names_in(text)
        self._make_live(scope, names)
        if scope is not layout.file:
            self._make_live(layout.file, names)
        if "." in text:
            self._make_live(layout.attributes, attributes_in(text))
        if not names.isdisjoint(layout.calls.pending):
            self._make_live(layout.calls, called_in(text))

    def _make_live(self, scope: Scope, names: Iterable[str]) -> None:
        for name in names:
            if name not in scope.live:
                scope.live.add(name)
                self._todo.extend((unit, False) for unit in scope.pending.pop(name, ()))
