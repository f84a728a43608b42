"""Tells what the text of a function proves about the shapes of its queries, keys and values.

A shape here is what a tensor of (batch, sequence, heads, channels) has second and third, each as a key: two tensors with
equal keys have equal sizes there. Statements are followed in a straight line from the start of the function, or of
the innermost loop, to the call; what a branch, a loop or an unknown function may have changed is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import NamedTuple

from tdev_core.codemod.engine.python.tree import PythonTree, below

__all__ = ["Shape", "shapes_at"]

Key = tuple[object, ...] | None


class Shape(NamedTuple):
    """The keys of the second and the third size; None where nothing is known."""

    length: Key = None
    heads: Key = None

    def equals(self, other: Shape) -> tuple[bool, bool]:
        """Tell of either size whether the two certainly have the same."""
        return (
            self.length is not None and self.length == other.length,
            self.heads is not None and self.heads == other.heads,
        )


_UNKNOWN = Shape()
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_OWN_NAMES = (ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# Methods that leave a shape as it is.
_KEEPING = frozenset(
    "contiguous to half bfloat16 float type type_as clone detach requires_grad_ cuda".split()
)


def shapes_at(python: PythonTree, call: ast.Call, asked: Sequence[ast.expr]) -> list[Shape]:
    """Return the shapes of some arguments where a call is made."""
    state = _State()
    path: list[ast.AST] = [call]
    for node in python.ancestors(call):
        if isinstance(node, _OWN_NAMES):
            break
        path.append(node)
        if isinstance(node, _FUNCTIONS + _LOOPS):
            break
    for outer, inner in reversed(list(zip(path[1:], path, strict=False))):
        if not isinstance(outer, _FUNCTIONS + _LOOPS):
            _pass_header(state, outer)
        for statement in below(outer):
            if statement is inner:
                break
            if _same_block(outer, statement, inner):
                assert isinstance(statement, ast.stmt)
                state.run(statement)
            elif not isinstance(outer, (ast.If, ast.Match)):  # of a try, it may have run in part
                state.forget_all_of(statement)
    return [state.shape(argument) for argument in asked]


def _same_block(outer: ast.AST, statement: ast.AST, inner: ast.AST) -> bool:
    blocks = (getattr(outer, name, None) for name in ("body", "orelse", "finalbody"))
    return any(isinstance(b, list) and inner in b and statement in b for b in blocks)


def _pass_header(state: _State, outer: ast.AST) -> None:
    """Take into account what the header of a block binds: ``with f() as q:``."""
    inside = set(below(outer))
    for node in ast.iter_child_nodes(outer):
        if node not in inside:
            state.forget_all_of(node)


class _State:
    """Knowledge of names where the statements so far have run."""

    def __init__(self) -> None:
        self._shapes: dict[str, Shape] = {}
        self._versions: dict[str, int] = {}
        self._made = 0

    # -- statements -----------------------------------------------------------------------

    def run(self, statement: ast.stmt) -> None:
        """Take a statement into account that has run."""
        found: dict[str, Shape] = {}
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            found = self._assigned(statement.targets[0], statement.value)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            found = self._assigned(statement.target, statement.value)
        self.forget_all_of(statement)
        self._shapes.update(found)

    def forget_all_of(self, part: ast.AST) -> None:
        """Forget what some code may bind."""
        for node in ast.walk(part):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                self._forget(node.id)
            elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                self._forget(node.name)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                for alias in node.names:
                    self._forget((alias.asname or alias.name).partition(".")[0])
            elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
                self._forget(node.name)
            elif isinstance(node, ast.MatchMapping) and node.rest:
                self._forget(node.rest)
            elif isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
                if isinstance(node.value, ast.Name):
                    self._versions[node.value.id] = self._versions.get(node.value.id, 0) + 1

    def _forget(self, name: str) -> None:
        self._shapes.pop(name, None)
        self._versions[name] = self._versions.get(name, 0) + 1

    def _assigned(self, target: ast.expr, value: ast.expr) -> dict[str, Shape]:
        if isinstance(target, ast.Name):
            return {target.id: self.shape(value)}
        if not isinstance(target, (ast.Tuple, ast.List)):
            return {}
        names = [node.id for node in target.elts if isinstance(node, ast.Name)]
        if len(names) != len(target.elts):
            return {}
        if isinstance(value, (ast.Tuple, ast.List)):
            if len(value.elts) != len(names):
                return {}
            return dict(zip(names, [self.shape(element) for element in value.elts], strict=True))
        if (each := self._of_each(value)) is not None:
            parameter, body, over = each
            shapes = self._elements(over, len(names))
            return {
                name: self._bound(parameter, body, shape)
                for name, shape in zip(names, shapes, strict=True)
            }
        if (shape := self._parts(value)) is not None:
            return dict.fromkeys(names, shape)
        return {}

    def _elements(self, over: ast.expr, count: int) -> list[Shape]:
        """Return the shapes of what is gone through: a tuple, or the parts of a tensor."""
        if isinstance(over, (ast.Tuple, ast.List)) and len(over.elts) == count:
            return [self.shape(one) for one in over.elts]
        return [self._parts(over) or _UNKNOWN] * count

    def _bound(self, parameter: str, body: ast.expr, shape: Shape) -> Shape:
        kept = self._shapes.get(parameter)
        self._shapes[parameter] = shape
        try:
            return self.shape(body)
        finally:
            if kept is None:
                del self._shapes[parameter]
            else:
                self._shapes[parameter] = kept

    @staticmethod
    def _of_each(value: ast.expr) -> tuple[str, ast.expr, ast.expr] | None:
        """Return the parameter, the body and the elements of ``(f(t) for t in (q, k, v))`` or ``map(lambda t: f(t), (q, k, v))``."""
        match value:
            case ast.Call(
                func=ast.Name(id="map"),
                args=[ast.Lambda(args=ast.arguments(args=[parameter])) as function, over],
                keywords=[],
            ):
                return parameter.arg, function.body, over
            case (
                ast.GeneratorExp(
                    elt=body,
                    generators=[ast.comprehension(target=ast.Name(id=name), iter=over, ifs=[])],
                )
                | ast.ListComp(
                    elt=body,
                    generators=[ast.comprehension(target=ast.Name(id=name), iter=over, ifs=[])],
                )
            ):
                return name, body, over
            case _:
                return None

    def _parts(self, value: ast.expr) -> Shape | None:
        """Return the shape that all parts of one tensor have: of ``unbind``, or of ``chunk`` and ``split`` of the last size."""
        if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute):
            return None
        arguments = value.args
        if isinstance(value.func.value, ast.Name) and value.func.value.id == "torch":
            arguments = arguments[1:]
        self._made += 1
        if value.func.attr == "unbind":
            return Shape(("part", self._made, 1), ("part", self._made, 2))
        if value.func.attr in ("chunk", "split", "tensor_split"):
            given = {k.arg: k.value for k in value.keywords}
            dim = given.get("dim") or (arguments[1] if len(arguments) > 1 else None)
            if dim is not None and _number(dim) in (-1, 2, 3):
                return Shape(("part", self._made, 1), None)
        return None

    # -- expressions ----------------------------------------------------------------------

    def shape(self, node: ast.expr) -> Shape:
        """Return what is known of an expression."""
        match node:
            case ast.Name(id=name):
                return self._shapes.get(name, _UNKNOWN)
            case ast.Subscript(
                value=ast.Name(id=name),
                slice=ast.Tuple(
                    elts=[ast.Slice() as first, ast.Slice() as second, ast.Constant(value=int())]
                ),
            ) if _is_whole(first) and _is_whole(second):
                version = self._versions.get(name, 0)
                return Shape(("of", name, version, 1), ("of", name, version, 2))
            case ast.Call(func=ast.Attribute(value=inner, attr="view" | "reshape"), args=sizes) if (
                not node.keywords
            ):
                if len(sizes) == 1 and isinstance(sizes[0], (ast.Tuple, ast.List)):
                    sizes = sizes[0].elts
                if len(sizes) < 3 or any(isinstance(size, ast.Starred) for size in sizes):
                    return _UNKNOWN
                return Shape(self._size(sizes[1]), self._size(sizes[2]))
            case ast.Call(func=ast.Attribute(value=inner, attr="transpose"), args=[one, two]) if {
                _number(one),
                _number(two),
            } == {1, 2}:
                shape = self.shape(inner)
                return Shape(shape.heads, shape.length)
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in _KEEPING:
                return self.shape(inner)
            case ast.Call(func=function, args=[first, *rest], keywords=named) if (
                _last(function) == "rearrange"
            ):
                return self._rearranged(self.shape(first), [*rest, *(k.value for k in named)])
            case _:
                return _UNKNOWN

    def _rearranged(self, shape: Shape, by: Sequence[ast.expr]) -> Shape:
        """Return the shape after ``einops.rearrange``: a pattern that keeps the second size, ``b n (h d) -> b n h d``."""
        pattern = by[0].value if isinstance(by[0], ast.Constant) else None
        if not isinstance(pattern, str) or pattern.count("->") != 1 or "..." in pattern:
            return _UNKNOWN
        before, after = (side.replace("(", " ( ").split() for side in pattern.split("->"))
        if len(before) < 3 or len(after) < 3 or "(" in before[:2] or before[:2] != after[:2]:
            return _UNKNOWN
        heads = ("rearranged", pattern, *map(self._said, by[1:]), shape.heads)
        return Shape(shape.length, heads if shape.heads else None)

    def _size(self, node: ast.expr) -> Key:
        """Return the key of a size that is given: a name, a part of one such as ``x.shape[1]``, or a number."""
        number = _number(node)
        if number is not None:
            return ("number", number) if number >= 0 else None
        root = node
        while isinstance(root, ast.Attribute) or (
            isinstance(root, ast.Subscript) and _number(root.slice) is not None
        ):
            root = root.value
        return ("size", self._said(node)) if isinstance(root, ast.Name) else None

    def _said(self, node: ast.expr) -> object:
        names = [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
        return ast.dump(node), tuple((name, self._versions.get(name, 0)) for name in names)


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None


def _is_whole(node: ast.Slice) -> bool:
    return node.lower is None and node.upper is None and node.step is None


def _last(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
