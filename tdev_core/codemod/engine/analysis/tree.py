"""One parse of one file: libcst's tree, its parents, and where every node stands in the text.

libcst's own ``PositionProvider``, ``ParentNodeProvider`` and ``ScopeProvider`` together take
about seven times as long as the parse they describe, and the engine needs spans (to replace
text and leave all else alone) rather than trees. So positions are taken as token numbers
during one run of libcst's code generator, with the hooks its position providers use, and
parents come from one walk that skips whitespace nodes.
"""

from __future__ import annotations

import ast
import bisect
import dataclasses
import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from itertools import accumulate
from operator import attrgetter
from types import TracebackType
from typing import Any

import libcst as cst
from libcst._nodes.internal import CodegenState

from tdev_core.codemod.engine.api import Names, SyntaxError_
from tdev_core.codemod.engine.slicing.slicer import Cut, thin

Span = tuple[int, int]

_NEWLINE = re.compile(r"\r\n|\r|\n")
_LONE_CR = re.compile(r"\r(?!\n)")
# Fields that hold whitespace or punctuation only: no expression is ever below them.
_PUNCTUATION = frozenset(
    "lpar rpar leading_lines lines_after_decorators header footer comma semicolon indent equal "
    "colon dot lbracket rbracket lbrace rbrace trailing_whitespace asynchronous star_etc_comma "
    "star posonly_ind first_colon second_colon newline comment bar separator ampersand "
    "relative empty_lines".split()
)


class _Recorder:
    """What ``record_syntactic_position`` hands out: notes the token numbers around a node."""

    __slots__ = ("state", "node", "start", "start_node", "end_node")

    def __init__(self, state: _Positions, node: cst.CSTNode, start_node: Any, end_node: Any):
        self.state = state
        self.node = node
        self.start_node = start_node
        self.end_node = end_node

    def __enter__(self) -> None:
        self.start = len(self.state.tokens)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        spans = self.state.spans
        start, end = self.start, len(self.state.tokens)
        if self.start_node is not None and self.start_node in spans:
            start = spans[self.start_node][0]
        if self.end_node is not None and self.end_node in spans:
            end = spans[self.end_node][1]
        spans[self.node] = (start, end)


class _Positions(CodegenState):
    """libcst's code generator, noting token numbers instead of lines and columns."""

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.spans: dict[cst.CSTNode, Span] = {}

    def record_syntactic_position(  # type: ignore[override]
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> _Recorder:
        return _Recorder(self, node, start_node, end_node)


class _Unchecked:
    """Nodes made meanwhile are not checked, which takes a fifth of the time that a parse takes.

    libcst checks each node that is made; those that its parser makes out of a text are right.
    """

    def __enter__(self) -> None:
        cst.CSTNode.__post_init__ = _unchecked  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        cst.CSTNode.__post_init__ = _checked  # type: ignore[method-assign]


_checked = cst.CSTNode.__post_init__


def _unchecked(self: cst.CSTNode) -> None:
    pass


@cache
def _is_node(kind: type) -> bool:
    return issubclass(kind, cst.CSTNode)


_Values = Callable[[cst.CSTNode], "tuple[object, ...]"]


@cache
def _values(kind: type[cst.CSTNode]) -> _Values | None:
    """A function for the fields of this type of node that can hold code; None if it has none."""
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
    """The nodes directly below ``node`` that can hold code, in source order."""
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
    """A node and all below it, in no particular order."""
    found, stack = [], [node]
    while stack:
        current = stack.pop()
        found.append(current)
        stack.extend(children(current))
    return found


class Tree:
    """The parsed file: ``source`` (without a byte order mark), nodes, parents and spans."""

    def __init__(self, source: str, names: Names | None = None) -> None:
        self.bom = source[:1] == "\ufeff"
        self.source = source[1:] if self.bom else source
        # Old Macintosh line ends: libcst knows only the other two. The offsets stay the same.
        parsed = _LONE_CR.sub("\n", self.source)
        thinned = thin(parsed, names) if names is not None else None
        self._thinned = thinned
        self.statements = thinned.statements if thinned is not None else ()
        if thinned is not None:
            parsed = thinned.text
        try:
            with _Unchecked():
                self.module = cst.parse_module(parsed)
        except cst.ParserSyntaxError as error:
            message = error.message.strip().splitlines()[0] if error.message else "invalid syntax"
            raise SyntaxError_(message, error.raw_line, error.raw_column + 1) from None
        except RecursionError:
            raise SyntaxError_("nested too deeply for the parser", 1, 1) from None
        state = _Positions(self.module)
        self.module._codegen(state)
        starts = list(accumulate(map(len, state.tokens), initial=0))
        if thinned is not None:
            _widen(starts, thinned.cuts)
        if "".join(state.tokens) != parsed:
            raise SyntaxError_("libcst does not reproduce this text exactly", 1, 1)
        # The last line end that a tree has beyond its text counts as a token of none.
        self._starts = [*starts, starts[-1]]
        self._tokens = state.spans
        self.parents: dict[cst.CSTNode, cst.CSTNode] = {}
        self.nodes: dict[type[cst.CSTNode], list[cst.CSTNode]] = {}
        self._walk()
        self._lines = [0, *(m.end() for m in _NEWLINE.finditer(self.source))]

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
        """Whether text that the rules do not see uses a name; see :meth:`Thinned.uses`."""
        return self._thinned is not None and self._thinned.uses(name)

    def of(self, *kinds: type[cst.CSTNode]) -> list[Any]:
        """All nodes of these types, each type in source order."""
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
        """The span of an expression including the parentheses that belong to it."""
        start, end = self.span(node)
        count = len(getattr(node, "lpar", ()))
        for _ in range(count):
            start = self.source.rindex("(", 0, start)
            end = _closing(self.source, end)
        return start, end

    def position(self, offset: int) -> tuple[int, int]:
        """1-based line and column (in characters) of an offset."""
        line = bisect.bisect_right(self._lines, offset)
        return line, offset - self._lines[line - 1] + 1

    def line_start(self, line: int) -> int:
        return self._lines[line - 1]

    def line_text(self, line: int) -> str:
        end = self._lines[line] if line < len(self._lines) else len(self.source)
        return self.source[self._lines[line - 1] : end]

    @property
    def line_count(self) -> int:
        return len(self._lines)

    @property
    def newline(self) -> str:
        found = _NEWLINE.search(self.source)
        return found.group() if found else "\n"

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """The parents of a node, nearest first."""
        parents = self.parents
        current = parents.get(node)
        while current is not None:
            yield current
            current = parents.get(current)

    def statement(self, node: cst.CSTNode) -> cst.CSTNode:
        """The nearest statement (a line, or a compound statement) around a node."""
        current = node
        for current in (node, *self.ancestors(node)):
            if isinstance(current, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                return current
        return current


def _widen(offsets: list[int], cuts: tuple[Cut, ...]) -> None:
    """Turn ascending offsets of a thinned text into those of the whole one."""
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
    """The offset after the next ``)`` that is not in a comment."""
    while True:
        if source[at] == ")":
            return at + 1
        if source[at] == "#":
            found = _NEWLINE.search(source, at)
            at = found.end() if found else len(source)
        else:
            at += 1


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
    """The value of a plain string literal (not bytes, not an f-string), else None."""
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
