"""Faults in Python source, one change of the syntax tree each, as replacements of text."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Edit", "edits"]


@dataclass(frozen=True)
class Edit:
    """One replacement in a file.

    Attributes:
        kind: what was done, in a word or two.
        function: dotted name of the function around it; empty at the top of a module or class body.
        entered: first line of that function as its code object has it; 0 without one, and where its answers are kept.
        line: where the replaced text begins, from 1.
        first: first line of the statement, or of the head of the statement, that the text is in.
        last: last line of it.
        start: offset of the replaced text, in bytes.
        end: offset behind it.
        before: the text that is replaced.
        after: what stands there instead.
    """

    kind: str
    function: str
    entered: int
    line: int
    first: int
    last: int
    start: int
    end: int
    before: str
    after: str

    def applied(self, source: bytes) -> bytes:
        """Return ``source`` with the change made."""
        return source[: self.start] + self.after.encode() + source[self.end :]


_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
# Calls whose strings are for people: tests that hold each word of them would only be copies.
_TOLD = {"warn", "warn_once", "debug", "info", "warning", "exception", "print", "add_argument"}
_TOLD |= {"TypeVar", "ParamSpec", "cast"}


def edits(source: str, *, routes: bool = False) -> Iterator[Edit]:
    """Yield every fault that can be planted in ``source``, in the order of its lines.

    With ``routes`` functions of a module are taken for one another, as a wrong route does.

    Left alone: docstrings, annotations, ``__all__``, what only type checkers run, what ``assert`` says to them, and
    the words of messages.
    """
    visitor = _Visitor(source)
    visitor.visit(ast.parse(source))
    if routes:
        visitor.neighbours()
    seen: set[tuple[int, int, str]] = set()
    for edit in sorted(visitor.found, key=lambda one: (one.start, one.end, one.after)):
        if (edit.start, edit.end, edit.after) not in seen and edit.before != edit.after:
            seen.add((edit.start, edit.end, edit.after))
            yield edit


class _Visitor(ast.NodeVisitor):
    def __init__(self, source: str) -> None:
        self.text = source.encode()
        self.starts = [0]
        for line in self.text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.found: list[Edit] = []
        self.scope: list[str] = []
        self.entered = 0
        self.told = 0
        self.span = (0, 0)
        self._called: list[ast.Call] = []
        self._around: list[tuple[list[str], int, tuple[int, int]]] = []

    def neighbours(self) -> None:
        """Call, of each module whose functions are called, the next one that is: a wrong route."""
        by_module: dict[str, list[str]] = {}
        for node in self._called:
            if isinstance(node.func, ast.Attribute):
                names = by_module.setdefault(ast.unparse(node.func.value), [])
                if node.func.attr not in names:
                    names.append(node.func.attr)
        for node, (function, entered, span) in zip(self._called, self._around, strict=True):
            if isinstance(node.func, ast.Attribute):
                names = by_module[ast.unparse(node.func.value)]
                other = names[(names.index(node.func.attr) + 1) % len(names)]
                if other == node.func.attr:
                    continue  # it has no neighbour
                changed = copy.deepcopy(node)
                assert isinstance(changed.func, ast.Attribute)
                changed.func.attr = other
                self.scope, self.entered, self.span = function, entered, span
                self._add("calls a neighbour", node, _text(changed))

    # -- what is left alone, and where we are --------------------------------------------------------

    def visit(self, node: ast.AST) -> None:
        """Keep in mind which lines a tracer tells for what is inside."""
        before = self.span
        if isinstance(node, (ast.stmt, ast.excepthandler)):
            decorators = [one.lineno for one in getattr(node, "decorator_list", ())]
            first, last = min([node.lineno, *decorators]), node.end_lineno or node.lineno
            body = getattr(node, "body", None)
            if body:  # of a compound statement its head
                last = max(first, body[0].lineno - 1)
            self.span = first, last
        super().visit(node)
        self.span = before

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Enter a function: its decorators and defaults belong to what is around it."""
        for outside in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if outside is not None:
                self.visit(outside)
        before = self.entered
        self.scope.append(node.name)
        self.entered = min([node.lineno, *(one.lineno for one in node.decorator_list)])
        if any("cache" in ast.unparse(one) for one in node.decorator_list):
            self.entered = 0  # who uses its answer need not enter it
        self._body(node.body)
        self.entered = before
        self.scope.pop()

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Enter a class."""
        self.scope.append(node.name)
        self._body(node.body)
        self.scope.pop()

    def visit_Module(self, node: ast.Module) -> None:
        """Enter the module."""
        self._body(node.body)

    def _body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            told = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if not told:  # a docstring, or the dots of a body that is none
                self.visit(statement)

    def visit_If(self, node: ast.If) -> None:
        """Turn the condition round; nothing of what only type checkers run."""
        if ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.orelse:
                self.visit(statement)
            return
        self._negated(node.test)
        self.generic_visit(node)

    def visit_While(self, node: ast.While) -> None:
        """Turn nothing round: a loop without end says nothing of the tests."""
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Turn the condition round."""
        self._negated(node.test)
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        """Leave it: most are for type checkers."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave f-strings: nearly all are messages."""

    def visit_arg(self, node: ast.arg) -> None:
        """Leave annotations."""

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Leave the words of a ``Literal``: only type checkers read them."""
        if ast.unparse(node.value) != "Literal":
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave the annotation, enter the value."""
        if node.value is not None:
            self.visit(node.value)

    # -- statements --------------------------------------------------------------------------------

    def visit_Assign(self, node: ast.Assign) -> None:
        """Delete what is stored in an object; a name that is missing would only be a NameError."""
        if any(isinstance(one, ast.Name) and one.id == "__all__" for one in node.targets):
            return
        if all(isinstance(one, (ast.Attribute, ast.Subscript)) for one in node.targets):
            self._deleted(node)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Delete it, and compute something else."""
        self._deleted(node)
        self._computed(node)
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Delete a call whose answer nobody wants."""
        if isinstance(node.value, (ast.Call, ast.Await)):
            self._deleted(node)
        self.generic_visit(node)

    def visit_Delete(self, node: ast.Delete) -> None:
        """Delete the deletion."""
        self._deleted(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        """Raise nothing; leave the words."""
        self._deleted(node)
        self.told += 1
        self.generic_visit(node)
        self.told -= 1

    def visit_Return(self, node: ast.Return) -> None:
        """Answer None."""
        none = isinstance(node.value, ast.Constant) and node.value.value is None
        if node.value is not None and not none:
            self._add("answers None", node, "return None")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        """Go on instead."""
        self._add("break to continue", node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        """End the loop instead."""
        self._add("continue to break", node, "break")

    # -- expressions -------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> None:
        """Hand on an argument less, call a neighbour; enter it quietly where it talks to people."""
        for number, keyword in enumerate(node.keywords):
            if keyword.arg is not None and not self.told:
                changed = copy.deepcopy(node)
                del changed.keywords[number]
                self._add("an argument less", node, _text(changed))
        self._called.append(node)
        self._around.append((list(self.scope), self.entered, self.span))
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        self.told += name in _TOLD
        self.generic_visit(node)
        self.told -= name in _TOLD

    def visit_Compare(self, node: ast.Compare) -> None:
        """Compare otherwise."""
        for number, operator in enumerate(node.ops):
            changed = copy.deepcopy(node)
            changed.ops[number] = _COMPARED[type(operator)]()
            self._add("compares otherwise", node, _text(changed))
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Swap ``and`` and ``or``; leave an operand out."""
        changed = copy.deepcopy(node)
        changed.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        self._add("and / or", node, _text(changed))
        for number in range(len(node.values)):
            fewer = copy.deepcopy(node)
            del fewer.values[number]
            one = fewer.values[0] if len(fewer.values) == 1 else fewer
            self._add("an operand less", node, _text(one))
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Leave ``not`` or a minus out."""
        if isinstance(node.op, (ast.Not, ast.USub)):
            self._add("sign or not removed", node, _text(node.operand))
        if not (isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant)):
            self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Compute something else."""
        self._computed(node)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Give another constant."""
        value = node.value
        if isinstance(value, bool):
            self._add("other constant", node, repr(not value))
        elif isinstance(value, (int, float)):
            self._add("off by one", node, _text(ast.Constant(value + 1)))
        elif isinstance(value, (str, bytes)) and not self.told and value:
            other: str | bytes = "other " + value if isinstance(value, str) else b"other " + value
            self._add("other constant", node, repr(other))

    # -- making them -------------------------------------------------------------------------------

    def _computed(self, node: ast.BinOp | ast.AugAssign) -> None:
        left = node.left if isinstance(node, ast.BinOp) else node.target
        words = (ast.JoinedStr, ast.Constant)
        if type(node.op) not in _COMPUTED or isinstance(left, words) and self.told:
            return
        changed = copy.deepcopy(node)
        changed.op = _COMPUTED[type(node.op)]()
        self._add("computes otherwise", node, _text(changed))

    def _negated(self, test: ast.expr) -> None:
        if not isinstance(test, (ast.Compare, ast.UnaryOp)):  # these are turned round themselves
            self._add("condition negated", test, f"(not {_text(test)})")

    def _deleted(self, node: ast.stmt) -> None:
        self._add("statement deleted", node, "pass")

    def _add(self, kind: str, node: ast.stmt | ast.expr, after: str) -> None:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = self.starts[node.lineno - 1] + node.col_offset
        end = self.starts[node.end_lineno - 1] + node.end_col_offset
        before = self.text[start:end].decode()
        function = ".".join(self.scope)
        self.found.append(
            Edit(kind, function, self.entered, node.lineno, *self.span, start, end, before, after)
        )


def _text(node: ast.AST) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.expr) and not _atom(node) else text


def _atom(node: ast.AST) -> bool:
    return isinstance(node, (ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript))
