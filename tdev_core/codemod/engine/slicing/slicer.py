"""Leaves out of a file, before libcst parses it, what no rule can see.

libcst takes twenty times as long over a file as Python's own parser, and a thousand bytes of memory
for each byte of it, while a file that names CUDA does so in one statement of ten. So Python's
parser says where the statements are. Each run of statements that cannot matter becomes one ``pass``
or nothing, and of a statement that only binds a name no more stays than says of which kind it is
(:mod:`.skeleton`). The engine's tree puts every node at its place in the whole text, so that rules,
edits and findings know nothing of it.

A statement stays if

- it holds a word that a rule starts from (:mod:`.words`), or the name of something that holds a
  device or a name of torch (:mod:`.holders`): then all of it stays;
- it gives a meaning to a name, or to an attribute of ``self``, that text which stays mentions, or
  it is a ``return`` of a function that such text calls;
- it is an import, a ``global``, or of a kind that is not known here;
- it is the header of a block in which something stays, or an ``if`` beside one whose test matters.

Names are compared as text, within one outermost function for its own variables and over the whole
file for all else: that keeps too much rather than too little.
"""

from __future__ import annotations

import ast
import bisect
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tdev_core.codemod.engine.api import Names, WholeTextNeeded
from tdev_core.codemod.engine.slicing.layout import (
    BLOCKS,
    FUNCTIONS,
    LEAVES,
    Layout,
    Scope,
    Unit,
    below,
    is_docstring,
    is_prose,
    only_if,
)
from tdev_core.codemod.engine.slicing.seeds import Words, of_a_method, of_an_object
from tdev_core.codemod.engine.slicing.skeleton import Hole, imported, parameter, skeleton
from tdev_core.codemod.engine.slicing.taint import Holders

PLACEHOLDER = "pass"
_WORD = re.compile(r"\.?\w+")
_GAP = r"[\s\\]|#[^\n]*\n"  # what may stand between two tokens
_ATTRIBUTE = re.compile(rf"\.(?:{_GAP})*([^\W\d]\w*)")
_CALLED = re.compile(rf"(?<![\w.])([^\W\d]\w*)(?!\w)(?:\)|{_GAP})*\(")
_KEEP = re.compile(r"#\s*tdev:\s*keep\b")

# What a script calls is compiled with it, whether or not a rule starts from it.
_SCRIPTS = re.compile(r"\bjit\s*\.\s*(?:script|export)|\btorch\.jit\s+import\b")

_MAY_GO = (*BLOCKS, *LEAVES, ast.ExceptHandler, ast.arg)

Cut = tuple[int, int, str]


@dataclass(frozen=True)
class Thinned:
    """A shorter text, the spans of the whole one that are not in it, and what stands there."""

    text: str
    cuts: tuple[Cut, ...]
    left_out: tuple[ast.AST, ...]
    statements: tuple[int, ...]
    """The offsets at which an outermost statement starts a line of its own."""

    def uses(self, name: str) -> bool:
        """Whether a statement that was left out uses ``name``, which none of them binds.

        Raises :class:`WholeTextNeeded` where that cannot be said without the scopes of the whole
        text, or where only a string holds the name.
        """
        used = said = False
        prose: set[ast.AST] = set()
        for node in below(*self.left_out):
            if isinstance(node, ast.Name):
                if node.id == name:
                    if not isinstance(node.ctx, ast.Load):
                        raise WholeTextNeeded
                    used = True
            elif isinstance(node, ast.Constant):
                if isinstance(node.value, str) and name in node.value and node not in prose:
                    said = True
            elif isinstance(node, ast.Expr):
                prose.add(node.value)
            elif isinstance(node, ast.arg) and node.arg == name:
                raise WholeTextNeeded
        if said and not used:
            raise WholeTextNeeded
        return used


def thin(source: str, names: Names) -> Thinned | None:
    """The text without what no rule can see; None where nothing is gained or Python cannot parse it.

    ``source`` has no byte order mark and no line end but ``\\n`` and ``\\r\\n``.
    """
    if "tdev" in source and _KEEP.search(source):
        return None  # comments protect lines, and go with the statements around them
    if "jit" in source and _SCRIPTS.search(source):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
        thinner = _Thinner(source, names, tree)
        cuts = thinner.cuts()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if not cuts:
        return None
    pieces, at = [], 0
    for start, end, text in cuts:
        pieces += [source[at:start], text]
        at = end
    text = "".join([*pieces, source[at:]])
    return Thinned(text, tuple(cuts), tuple(thinner.left_out), tuple(thinner.statements()))


class _Thinner:
    def __init__(self, source: str, names: Names, tree: ast.Module) -> None:
        self.left_out: list[ast.AST] = []
        self._source = source
        self._tree = tree
        self._words = Words.of(names)
        self._layout = Layout(source, tree)
        self._starts = [unit.start for unit in self._layout.units]
        self._holders = Holders(self._words, self._layout)
        self._holes: dict[Unit, list[Hole]] = {}
        self._todo: list[tuple[Unit, bool]] = []
        self._to_spread: set[Unit] = set()
        self._cuts: list[Cut] = []

    def cuts(self) -> list[Cut]:
        """The spans that go: runs of statements, and parts of others."""
        for place in self._words.places(self._source):
            if not of_an_object(self._source, place, self._layout.imported):
                self._hit(place)
        for place in self._words.named(self._source):
            if not of_a_method(self._source, place, self._layout.imported):
                self._hit(place)
        for unit in self._layout.units:
            if not isinstance(unit.node, _MAY_GO):
                self._todo.append((unit, False))
        # Rules look these up where no text mentions them, for a name that stands for torch or tdev.
        for scope in (self._layout.file, *self._layout.functions):
            self._live(scope, self._layout.imported)
        self._settle()
        self._runs(self._tree.body)
        for holes in self._holes.values():
            self._punch(holes)
        self._shorten_lists()
        for scope in (self._layout.file, *self._layout.functions):
            scope.waiting.clear()  # a cycle, which would stay until the collector comes
        return sorted(self._cuts)

    def statements(self) -> Iterator[int]:
        """Where an outermost statement starts a line, which does not go on with the one above."""
        for node in self._tree.body:
            start = self._layout.unit_of[node].start
            if not start:
                yield start
            elif self._source[start - 1] == "\n":
                if not self._source[max(0, start - 3) : start].rstrip().endswith("\\"):
                    yield start

    # -- what stays ---------------------------------------------------------------------------

    def _hit(self, place: int) -> None:
        index = bisect.bisect_right(self._starts, place) - 1
        unit = self._layout.units[index] if index >= 0 else None
        while unit is not None and place >= unit.end:
            unit = unit.parent
        if unit is None or unit in self._to_spread or is_prose(unit.node):
            return
        if isinstance(unit.node, FUNCTIONS):
            if not any(start <= place < end for start, end in unit.texts):
                # In a name: that of the function may be asked for, a parameter's own says nothing.
                if "(" not in self._source[unit.start : place]:
                    self._todo.append((unit, False))
                return
        self._to_spread.add(unit)
        self._todo.append((unit, True))

    def _settle(self) -> None:
        while self._todo:
            unit, matters = self._todo.pop()
            if matters:  # again for each name in it that turns out to hold a device
                self._to_spread.discard(unit)
                self._spread(unit)
            if unit.whole or (unit.kept and not matters):
                continue
            if not unit.kept:
                unit.kept = True
                self._keep_around(unit)
            left = None if matters else skeleton(unit, self._layout)
            if left is None:
                unit.whole = True
                self._holes.pop(unit, None)
                for start, end in unit.texts:
                    self._mention(self._source[start:end], unit.scope)
            else:
                self._holes[unit] = left.holes
                for start, end in left.read:
                    self._mention(self._source[start:end], unit.scope)

    def _keep_around(self, unit: Unit) -> None:
        """What has to stay for a statement to be where it is."""
        if unit.parent is not None and not unit.parent.kept:
            self._todo.append((unit.parent, False))
        if isinstance(unit.node, ast.If) and only_if(unit.node.orelse):
            self._todo.append((self._layout.unit_of[unit.node.orelse[0]], False))

    def _mention(self, text: str, scope: Scope) -> None:
        names = {word for word in _WORD.findall(text) if word[0] != "."}
        self._live(scope, names)
        if scope is not self._layout.file:
            self._live(self._layout.file, names)
        if "." in text:
            self._live(self._layout.attributes, _ATTRIBUTE.findall(text))
        if not names.isdisjoint(self._layout.calls.waiting):
            self._live(self._layout.calls, _CALLED.findall(text))

    def _live(self, scope: Scope, names: Iterable[str]) -> None:
        for name in names:
            if name not in scope.live:
                scope.live.add(name)
                self._todo.extend((unit, False) for unit in scope.waiting.pop(name, ()))

    def _spread(self, unit: Unit) -> None:
        """What a statement that holds a rule's word makes matter besides."""
        if isinstance(unit.node, ast.If):
            self._spread_if(unit)
        for held in self._holders.learn(unit):
            for place in held.places(self._layout):
                self._hit(place)

    def _spread_if(self, unit: Unit | None) -> None:
        """The tests beside one that matters may ask for another accelerator."""
        while unit is not None:
            for node in self._layout.beside.get(unit.node, ()):
                self._todo.append((self._layout.unit_of[node], False))
            above = unit.parent
            head = above.node if above is not None else None
            unit = above if isinstance(head, ast.If) and only_if(head.orelse) else None

    # -- what goes ------------------------------------------------------------------------------

    def _runs(self, body: list[ast.stmt]) -> None:
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
            if not self._close(before, run, unit):
                self._cut(run)
                self._gap(run[-1] if run else before, unit)
            run, before = [], node
            if not isinstance(node, BLOCKS):
                continue
            self._runs(node.body)
            for handler in getattr(node, "handlers", ()):
                self._runs(handler.body)
            self._runs(getattr(node, "orelse", []))
            self._runs(getattr(node, "finalbody", []))
        self._cut(run)

    def _cut(self, run: list[ast.stmt]) -> None:
        if run:
            start, end = self._layout.unit_of[run[0]].start, self._layout.end(run[-1])
            if end - start > 2 * len(PLACEHOLDER):
                self._cuts.append((start, end, PLACEHOLDER))
                self.left_out += run

    def _close(self, before: ast.stmt | None, run: list[ast.stmt], after: Unit) -> bool:
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

    def _gap(self, before: ast.stmt | None, after: Unit) -> None:
        """Take out the lines between two statements of a block: comments, and empty ones."""
        if before is None:
            return
        start = self._source.find("\n", self._layout.end(before), after.start) + 1
        end = self._source.rfind("\n", start, after.start) + 1
        if 0 < start < end:
            self._cuts.append((start, end, ""))

    def _shorten_lists(self) -> None:
        """Parameters and imported names that nothing mentions."""
        for unit in self._layout.units:
            node = unit.node
            if isinstance(node, ast.arg):
                if not unit.kept and unit.parent is not None and unit.parent.kept:
                    self._punch([parameter(node, self._layout)])
            elif isinstance(node, ast.ImportFrom) and not self._special(unit, node):
                self._punch(imported(node, unit.scope.live, self._layout))

    def _special(self, unit: Unit, node: ast.ImportFrom) -> bool:
        """Whether a rule may look at an import's names by themselves."""
        package = (node.module or "").partition(".")[0]
        text = self._source[unit.start : unit.end]
        return package in ("torch", "tdev", "numba") or self._words.says(text)

    def _punch(self, holes: Iterable[Hole]) -> None:
        for hole in holes:
            self._cuts.append((hole.start, hole.end, hole.text))
            self.left_out += hole.nodes
