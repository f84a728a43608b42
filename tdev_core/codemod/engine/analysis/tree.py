"""Holds one file's tree: libcst's nodes, their parents, and where each stands in the text.

libcst's own ``ParentNodeProvider`` and ``ScopeProvider`` take several times as long as the parse they
describe; parents come from one walk that skips whitespace nodes.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterator
from typing import Any

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import children
from tdev_core.codemod.engine.analysis.parsing import parse
from tdev_core.codemod.engine.api import Names
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.lines import NEWLINE, Lines, Span
from tdev_core.codemod.engine.slicing.cutting import Cut
from tdev_core.codemod.engine.slicing.slicer import take_slice

_LONE_CR = re.compile(r"\r(?!\n)")
# Before a statement: it starts the column anew, and libcst does not write it again.
_FORM_FEED = re.compile(r"^[ \t\f]*\f(?=[^\s#]|[ \t]+[^\s#]|\Z)", re.MULTILINE)


class Tree(Lines):
    """The parsed file: ``source`` (without a byte order mark), nodes, parents and spans."""

    def __init__(
        self,
        source: str,
        names: Names | None = None,
        marks: tuple[str, ...] = (),
        known: Known | None = None,
    ) -> None:
        self.bom = source[:1] == "\ufeff"
        super().__init__(source[1:] if self.bom else source)
        # Old Macintosh line ends: libcst knows only the other two. The offsets stay the same.
        parsed = _LONE_CR.sub("\n", self.source)
        feeds = [(*f.span(), "") for f in _FORM_FEED.finditer(parsed)] if "\f" in parsed else []
        parsed = _FORM_FEED.sub("", parsed) if feeds else parsed
        if names is None or feeds:
            slice_ = None
        else:
            slice_ = take_slice(parsed, names, marks, known)
        self._slice = slice_
        self.statements = slice_.statements if slice_ is not None else ()
        self.python = slice_.tree if slice_ is not None and parsed == self.source else None
        """Python's own tree of the whole text, where it has been read already."""
        if slice_ is not None:
            parsed = slice_.text
        self.module, starts, self._tokens = parse(parsed)
        if slice_ is not None:
            _widen(starts, slice_.cuts)
        _widen(starts, tuple(feeds))
        # The last line end that a tree has beyond its text counts as a token of none.
        self._starts = [*starts, starts[-1]]
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.nodes: dict[type[cst.CSTNode], list[cst.CSTNode]] = {}
        self._walk()

    def _walk(self) -> None:
        stack: list[cst.CSTNode] = [self.module]
        parents, nodes = self.parents, self.nodes
        while stack:
            node = stack.pop()
            nodes.setdefault(type(node), []).append(node)
            below = children(node)
            for child in below:
                parents[child] = node
            below.reverse()
            stack += below

    def left_out_uses(self, name: str) -> bool:
        """Tell whether text that the rules do not see uses a name; see :meth:`Slice.leaves_out_use`."""
        return self._slice is not None and self._slice.leaves_out_use(name)

    def leaves_out(self, offset: int) -> bool:
        """Tell whether the rules do not see the text at an offset."""
        cuts = self._slice.cuts if self._slice is not None else ()
        return any(start <= offset < end for start, end, _ in cuts)

    def of(self, *kinds: type[cst.CSTNode]) -> list[Any]:
        """Return all nodes of these types, each type in source order."""
        return [node for kind in kinds for node in self.nodes.get(kind, ())]

    def span(self, node: cst.CSTNode) -> Span:
        """Start and end of a node in the text, without its own parentheses."""
        found = self._tokens.get(node)
        if found is not None:
            return self._starts[found[0]], self._starts[found[1]]
        spans = [self.span(child) for child in children(node)]
        return (spans[0][0], spans[-1][1])

    def text(self, node: cst.CSTNode) -> str:
        start, end = self.span(node)
        return self.source[start:end]

    def outer_span(self, node: cst.CSTNode) -> Span:
        """Return the span of an expression including the parentheses that belong to it."""
        start, end = self.span(node)
        count = len(getattr(node, "lpar", ()))
        for _ in range(count):
            start = self.source.rindex("(", 0, start)
            end = _closing(self.source, end)
        return start, end

    @property
    def newline(self) -> str:
        found = NEWLINE.search(self.source)
        return found.group() if found else "\n"

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Yield the parents of a node, nearest first."""
        parents = self.parents
        current = parents.get(node)
        while current is not None:
            yield current
            current = parents.get(current)

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the nearest statement (a line, or a compound statement) around a node."""
        current = node
        for current in (node, *self.ancestors(node)):
            if isinstance(current, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                return current
        return current


def _widen(offsets: list[int], cuts: tuple[Cut, ...]) -> None:
    """Turn ascending offsets of a slice into those of the whole one."""
    shift, at = 0, 0
    for start, end, text in cuts:
        # Where nothing stands for a span, what followed it follows it again.
        find = bisect.bisect_right if text else bisect.bisect_left
        after = find(offsets, start - shift, at)
        if shift:
            offsets[at:after] = [offset + shift for offset in offsets[at:after]]
        shift, at = shift + end - start - len(text), after
    if shift:
        offsets[at:] = [offset + shift for offset in offsets[at:]]


def _closing(source: str, at: int) -> int:
    """Return the offset after the next ``)`` that is not in a comment."""
    while True:
        if source[at] == ")":
            return at + 1
        if source[at] == "#":
            found = NEWLINE.search(source, at)
            at = found.end() if found else len(source)
        else:
            at += 1
