"""Leaves out of a file, before libcst parses it, the statements that no rule can see.

libcst takes twenty times as long over a file as Python's own parser, and a thousand bytes of memory
for each byte of it, while a file that names CUDA does so in one statement of ten. So Python's
parser says where the statements are, and each run of statements that cannot matter becomes one
``pass``. The engine's tree puts every node at its place in the whole text, so that rules, edits and
findings know nothing of it.

A statement stays if

- it holds a word that a rule starts from (:mod:`.words`), or the name of something that holds a
  device or a name of torch;
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
from collections.abc import Iterable
from dataclasses import dataclass

from tdev_core.codemod.engine.api import Names, WholeTextNeeded
from tdev_core.codemod.engine.statements import (
    BLOCKS,
    FUNCTIONS,
    LEAVES,
    LOOPS,
    Layout,
    Scope,
    Span,
    Unit,
    is_docstring,
    only_if,
)
from tdev_core.codemod.engine.words import Words, places

PLACEHOLDER = "pass"
_IDENTIFIER = re.compile(r"[^\W\d]\w*")
_GAP = r"[\s\\]|#[^\n]*\n"  # what may stand between two tokens
_ATTRIBUTE = re.compile(rf"\.(?:{_GAP})*([^\W\d]\w*)")
_CALLED = re.compile(rf"(?<![\w.])([^\W\d]\w*)(?!\w)(?:\)|{_GAP})*\(")
_KEEP = re.compile(r"#\s*tdev:\s*keep\b")

# Calls that hand on a device that they are given.
_HANDS_ON = frozenset({"str", "dict", "format", "getattr", "partial"})
_HOLDERS = (
    *(ast.IfExp, ast.BoolOp, ast.BinOp, ast.NamedExpr, ast.JoinedStr, ast.FormattedValue),
    *(ast.Dict, ast.Tuple, ast.List, ast.Set, ast.Starred, ast.Subscript),
)


@dataclass(frozen=True)
class Thinned:
    """A shorter text, and the spans of the whole one for which a ``pass`` stands in it."""

    text: str
    cuts: tuple[Span, ...]
    left_out: tuple[ast.stmt, ...]

    def uses(self, name: str) -> bool:
        """Whether a statement that was left out uses ``name``, which none of them binds.

        Raises :class:`WholeTextNeeded` where that cannot be said without the scopes of the whole
        text, or where only a string holds the name.
        """
        used = False
        for statement in self.left_out:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and node.id == name:
                    if not isinstance(node.ctx, ast.Load):
                        raise WholeTextNeeded
                    used = True
                elif isinstance(node, ast.arg) and node.arg == name:
                    raise WholeTextNeeded
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    if name in node.value and not used:
                        raise WholeTextNeeded
        return used


def thin(source: str, names: Names) -> Thinned | None:
    """The text without what no rule can see; None where nothing is gained or Python cannot parse it.

    ``source`` has no byte order mark and no line end but ``\\n`` and ``\\r\\n``.
    """
    if "tdev" in source and _KEEP.search(source):
        return None  # comments protect lines, and go with the statements around them
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
    for start, end in cuts:
        pieces += [source[at:start], PLACEHOLDER]
        at = end
    return Thinned("".join([*pieces, source[at:]]), tuple(cuts), tuple(thinner.left_out))


class _Thinner:
    def __init__(self, source: str, names: Names, tree: ast.Module) -> None:
        self.left_out: list[ast.stmt] = []
        self._source = source
        self._tree = tree
        self._words = Words.of(names)
        self._layout = Layout(source, tree)
        self._starts = [unit.start for unit in self._layout.units]
        self._tainted: set[str] = set()
        self._todo: list[tuple[Unit, bool]] = []
        self._to_spread: set[Unit] = set()

    def cuts(self) -> list[Span]:
        """The spans of the runs of statements that go."""
        for place in self._words.places(self._source):
            self._hit(place)
        for unit in self._layout.units:
            if not isinstance(unit.node, (*BLOCKS, *LEAVES, ast.ExceptHandler)):
                self._todo.append((unit, False))
        # Rules look these up where no text mentions them, for a name that stands for torch or tdev.
        for scope in (self._layout.file, *self._layout.functions):
            self._live(scope, self._layout.imported)
        self._settle()
        found: list[Span] = []
        self._runs(self._tree.body, found)
        return found

    # -- what stays ---------------------------------------------------------------------------

    def _hit(self, place: int) -> None:
        index = bisect.bisect_right(self._starts, place) - 1
        if index < 0 or place >= self._layout.units[index].end:
            return
        unit = self._layout.units[index]
        if unit not in self._to_spread:
            self._to_spread.add(unit)
            self._todo.append((unit, True))

    def _settle(self) -> None:
        while self._todo:
            unit, matters = self._todo.pop()
            if matters:  # again for each name in it that turns out to hold a device
                self._to_spread.discard(unit)
                self._spread(unit)
            if unit.kept:
                continue
            unit.kept = True
            if unit.parent is not None and not unit.parent.kept:
                self._todo.append((unit.parent, False))
            if isinstance(unit.node, ast.If) and only_if(unit.node.orelse):
                self._todo.append((self._layout.unit_of[unit.node.orelse[0]], False))
            for start, end in unit.texts:
                self._mention(self._source[start:end], unit.scope)

    def _mention(self, text: str, scope: Scope) -> None:
        names = _IDENTIFIER.findall(text)
        self._live(scope, names)
        if scope is not self._layout.file:
            self._live(self._layout.file, names)
        self._live(self._layout.attributes, _ATTRIBUTE.findall(text))
        self._live(self._layout.calls, _CALLED.findall(text))

    def _live(self, scope: Scope, names: Iterable[str]) -> None:
        for name in names:
            if name not in scope.live:
                scope.live.add(name)
                self._todo.extend((unit, False) for unit in scope.waiting.pop(name, ()))

    def _spread(self, unit: Unit) -> None:
        """What a statement that holds a rule's word makes matter besides."""
        node = unit.node
        if isinstance(node, ast.If):
            self._spread_if(unit)
        self._spread_names(node, unit.function)
        if isinstance(node, ast.Match):
            self._spread_below(node, unit.function)
        if ":=" in self._source[unit.start : unit.end]:
            for below in ast.walk(node):
                if isinstance(below, ast.NamedExpr):
                    self._spread_assign(below.target, below.value)

    def _spread_below(self, node: ast.AST, function: str | None) -> None:
        """The same for the statements in one that is a unit with all its blocks."""
        for below in ast.iter_child_nodes(node):
            if isinstance(below, (ast.stmt, ast.match_case, ast.ExceptHandler)):
                self._spread_names(below, function)
                own = below.name if isinstance(below, FUNCTIONS) else function
                self._spread_below(below, own)

    def _spread_names(self, node: ast.AST, function: str | None) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for name in self._words.imported(node):
                self._taint(name)
        elif isinstance(node, FUNCTIONS):
            self._spread_def(node)
        elif isinstance(node, ast.Return):
            if function is not None and node.value is not None and self._holds(node.value):
                self._taint(function)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                self._spread_assign(target, node.value)
        elif isinstance(node, LOOPS) and isinstance(node.iter, (ast.Tuple, ast.List, ast.Set)):
            self._spread_assign(node.target, None)

    def _spread_if(self, unit: Unit | None) -> None:
        """The tests beside one that matters may ask for another accelerator."""
        while unit is not None:
            for node in self._layout.beside.get(unit.node, ()):
                self._todo.append((self._layout.unit_of[node], False))
            above = unit.parent
            head = above.node if above is not None else None
            unit = above if isinstance(head, ast.If) and only_if(head.orelse) else None

    def _spread_def(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = node.args
        given = [*arguments.posonlyargs, *arguments.args]
        pairs: list[tuple[ast.arg, ast.expr | None]] = [
            *zip(reversed(given), reversed(arguments.defaults), strict=False)
        ]
        pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        for argument, default in pairs:
            if default is not None and self._holds(default):
                self._taint(argument.arg)

    def _spread_assign(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts: list[ast.expr | None] = [value] * len(target.elts)
            if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts):
                parts = list(value.elts)
            for one, part in zip(target.elts, parts, strict=True):
                self._spread_assign(one, part)
        elif value is None or self._holds(value):
            if isinstance(target, ast.Name):
                self._taint(target.id)
            elif isinstance(target, ast.Attribute):
                self._taint(target.attr)

    def _holds(self, node: ast.expr) -> bool:
        """Whether a value may be a name of CUDA, or something of torch's that a rule looks for."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, str) and self._words.says(node.value)
        if isinstance(node, ast.Name):
            return self._says(node.id)
        if isinstance(node, ast.Attribute):
            return self._says(node.attr) or self._holds(node.value)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                if node.func.id not in _HANDS_ON:
                    return self._says(node.func.id)
            elif not isinstance(node.func, ast.Attribute):
                return False
            elif node.func.attr not in _HANDS_ON:
                return node.func.attr != "cuda" and self._says(node.func.attr)
        elif not isinstance(node, _HOLDERS):
            return False
        return any(self._holds(part) for part in _parts(node))

    def _says(self, name: str) -> bool:
        return name in self._tainted or self._words.says(name)

    def _taint(self, name: str) -> None:
        if self._says(name):
            return
        self._tainted.add(name)
        for place in places(self._source, name):
            self._hit(place)

    # -- the runs that go -----------------------------------------------------------------------

    def _runs(self, body: list[ast.stmt], found: list[Span]) -> None:
        run: list[ast.stmt] = []
        units = [self._layout.unit_of[node] for node in body]
        if units and is_docstring(body[0]):
            # What is put at the start of a block goes below it.
            units[0].kept = any(unit.kept for unit in units)
        for node, unit in zip(body, units, strict=True):
            if not unit.kept:
                run.append(node)
                continue
            self._cut(run, found)
            run = []
            if not isinstance(node, BLOCKS):
                continue
            self._runs(node.body, found)
            for handler in getattr(node, "handlers", ()):
                self._runs(handler.body, found)
            self._runs(getattr(node, "orelse", []), found)
            self._runs(getattr(node, "finalbody", []), found)
        self._cut(run, found)

    def _cut(self, run: list[ast.stmt], found: list[Span]) -> None:
        if run:
            start, end = self._layout.unit_of[run[0]].start, self._layout.end(run[-1])
            if end - start > 2 * len(PLACEHOLDER):
                found.append((start, end))
                self.left_out += run


def _parts(node: ast.AST) -> list[ast.expr]:
    """The expressions directly in one."""
    found: list[ast.expr] = []
    for below in ast.iter_child_nodes(node):
        if isinstance(below, ast.expr):
            found.append(below)
        elif isinstance(below, ast.keyword):
            found.append(below.value)
    return found
