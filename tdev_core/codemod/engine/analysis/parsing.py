"""Parses a text with libcst and says at which tokens each node stands.

libcst's own ``PositionProvider`` takes several times as long as the parse that it describes, and the
engine needs offsets. So positions are taken as token numbers during one run of libcst's code
generator, with the hooks that its position providers use.
"""

from __future__ import annotations

import os
import threading
from itertools import accumulate
from types import TracebackType
from typing import Any

import libcst as cst
from libcst._nodes.expression import _BaseParenthesizedNode
from libcst._nodes.internal import CodegenState

from tdev_core.codemod.engine.api import SyntaxError_
from tdev_core.codemod.engine.python.lines import Span

Spans = dict[cst.CSTNode, Span]


def parse(text: str) -> tuple[cst.Module, list[int], Spans]:
    """Return the tree of a text, the offset of each token, and the tokens between which each node stands.

    Raises :class:`SyntaxError_` for what libcst cannot parse, or would not write as it was.
    """
    try:
        with _Unchecked():
            module = cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        message = error.message.strip().splitlines()[0] if error.message else "invalid syntax"
        raise SyntaxError_(message, error.raw_line, error.raw_column + 1) from None
    except RecursionError:
        raise SyntaxError_("nested too deeply for the parser", 1, 1) from None
    state = _Positions(module)
    with _Quick():
        module._codegen(state)
    written = "".join(state.tokens)
    if written != text:
        # Blanks on lines of their own at the end of a file are lost to libcst; nothing stands there.
        end = len(text.rstrip())
        if text[:end] != written[:end] or written[end:].strip():
            raise SyntaxError_("libcst does not reproduce this text exactly", 1, 1)
    return module, list(accumulate(map(len, state.tokens), initial=0)), state.spans


class _Recorder:
    """Notes the token numbers around a node; handed out by ``record_syntactic_position``."""

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
        self.spans: Spans = {}

    def record_syntactic_position(  # type: ignore[override]
        self,
        node: cst.CSTNode,
        *,
        start_node: cst.CSTNode | None = None,
        end_node: cst.CSTNode | None = None,
    ) -> _Recorder:
        return _Recorder(self, node, start_node, end_node)


class _Parentheses:
    """A node's own parentheses and the record of what is between them, without a generator for each node."""

    __slots__ = ("node", "state", "start")

    def __init__(self, node: Any, state: _Positions) -> None:
        self.node = node
        self.state = state

    def __enter__(self) -> None:
        for bracket in self.node.lpar:
            bracket._codegen(self.state)
        self.start = len(self.state.tokens)

    def __exit__(self, *_: object) -> None:
        self.state.spans[self.node] = (self.start, len(self.state.tokens))
        for bracket in self.node.rpar:
            bracket._codegen(self.state)


def _bracketed(self: Any, state: Any) -> Any:
    return (
        _Parentheses(self, state)
        if type(state) is _Positions
        else _slow(self, "_parenthesize")(state)
    )


def _write(self: Any, state: Any, **how: Any) -> None:
    if type(state) is _Positions:
        self._codegen_impl(state, **how)
    else:
        _slow(self, "_codegen")(state, **how)


def _write_value(self: Any, state: Any, **how: Any) -> None:
    if type(state) is _Positions:
        state.tokens.append(self.value)
    else:
        _slow(self, "_codegen")(state, **how)


def _write_name(self: Any, state: Any, **how: Any) -> None:
    if type(state) is not _Positions:
        _slow(self, "_codegen")(state, **how)
    elif self.lpar:
        self._codegen_impl(state)
    else:
        tokens = state.tokens
        tokens.append(self.value)
        state.spans[self] = (len(tokens) - 1, len(tokens))


_QUICK = (
    (cst.CSTNode, "_codegen", _write),
    (_BaseParenthesizedNode, "_parenthesize", _bracketed),
    (cst.SimpleWhitespace, "_codegen", _write_value),
    (cst.Name, "_codegen", _write_name),
)
_SLOW = {"_codegen": cst.CSTNode._codegen, "_parenthesize": _BaseParenthesizedNode._parenthesize}
_quickly = threading.Lock()
if hasattr(os, "register_at_fork"):  # a child finds libcst as it is
    os.register_at_fork(
        before=_quickly.acquire, after_in_parent=_quickly.release, after_in_child=_quickly.release
    )


def _slow(node: Any, name: str) -> Any:
    """Return libcst's own method, for a text that another thread writes meanwhile."""
    return _SLOW[name].__get__(node)


class _Quick:
    """Nodes are written meanwhile without libcst's hooks around each, which cost as much as the writing.

    A name or a space is one token. One thread at a time: what is put back has to be libcst's own.
    """

    def __enter__(self) -> None:
        _quickly.acquire()
        for where, name, quick in _QUICK:
            setattr(where, name, quick)

    def __exit__(self, *_: object) -> None:
        try:
            for where, name, _quick in _QUICK:
                if where in (cst.CSTNode, _BaseParenthesizedNode):
                    setattr(where, name, _SLOW[name])
                else:
                    delattr(where, name)
        finally:
            _quickly.release()


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
