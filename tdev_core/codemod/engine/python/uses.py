"""Tells what is done with a list or a dictionary where it is used: whether it is only read, or somebody may fill it."""

from __future__ import annotations

import ast
from enum import Enum, auto

from tdev_core.codemod.engine.python.tree import PythonTree

# Methods that put something into what they are called of, and those that put nothing.
PUTTING = frozenset("append add insert extend setdefault update".split())
_READING = frozenset(
    "get values items keys copy index count pop popleft popitem clear remove discard sort reverse".split()
)
_TAKING = frozenset("get pop popleft".split())

# Python's own functions that change nothing that they are given.
_READERS = frozenset(
    "len list tuple set frozenset dict sorted reversed iter enumerate zip next min max sum any all isinstance "
    "str repr print bool type id map filter range deepcopy hasattr parametrize".split()
)


class Use(Enum):
    """The ways to use a list or a dictionary where it stands."""

    READ = auto()
    PUT = auto()
    """Something is put into it, by one of the ways that are followed."""
    NAMED = auto()
    """It gets one more name."""
    UNKNOWN = auto()
    """It is handed to somebody who may fill it, or filled in a way that is not followed."""


def use_of(
    tree: PythonTree, node: ast.expr, deep: int, *, kept: bool = False
) -> tuple[Use, ast.expr]:
    """Return what is done with a value of which an item ``deep`` steps inside is asked for, and with what it ends.

    ``kept``: others have it as well, so that who it is returned to may fill it.
    """
    below: ast.expr = node
    inside = False  # in an item of it, or in what holds it beside others
    above = tree.ancestors(node)
    for parent in above:
        match parent:
            case ast.Subscript(value=value, ctx=ctx) if value is below:
                if isinstance(ctx, ast.Store):
                    plain = not inside and _is_assigned(tree, parent)
                    return (Use.PUT if plain else Use.UNKNOWN), below
                deep -= 1
                if isinstance(ctx, ast.Del) or deep < 1 or isinstance(parent.slice, ast.Slice):
                    return Use.READ, below
                below, inside = parent, True
            case ast.Attribute(attr=attr):
                call = next(above, None)
                if not isinstance(call, ast.Call) or call.func is not parent:
                    return Use.UNKNOWN, below
                if attr in PUTTING:
                    return (Use.UNKNOWN if inside else Use.PUT), below
                if attr not in _READING:
                    return Use.UNKNOWN, below
                deep -= 1
                if deep < 1 or attr not in _TAKING:
                    return Use.READ, below
                below, inside = call, True
            case ast.Call(func=func):
                name = ast.unparse(func)
                reads = name.rpartition(".")[2] in _READERS and not name.startswith("list.")
                return (Use.READ if reads or name.startswith("torch.") else Use.UNKNOWN), below
            case ast.keyword(arg=arg):
                if arg is None:
                    return Use.READ, below  # `f(**options)` gives a copy
            case ast.IfExp(test=test) if test is not below:
                below = parent
            case ast.BoolOp():
                below = parent
            case ast.Tuple() | ast.List() | ast.Set() | ast.Dict():
                if isinstance(parent, ast.Dict) and None in parent.keys:
                    unpacked = zip(parent.keys, parent.values, strict=True)
                    if any(key is None and value is below for key, value in unpacked):
                        return Use.READ, below
                below, inside = parent, True
            case ast.Return():
                return (Use.UNKNOWN if kept else Use.READ), below
            case ast.Assign(targets=targets):
                if inside or below not in (parent.value,):
                    return Use.UNKNOWN, below
                if all(isinstance(each, (ast.Tuple, ast.List)) for each in targets):
                    return (Use.READ if deep < 2 else Use.UNKNOWN), below
                if len(targets) == 1 and isinstance(targets[0], ast.Name):
                    return Use.NAMED, targets[0]
                return Use.UNKNOWN, below
            case ast.AugAssign(target=target):
                return (Use.PUT if target is below else Use.READ), below
            case (
                ast.Starred()
                | ast.comprehension()
                | ast.For()
                | ast.Compare()
                | ast.UnaryOp()
                | ast.BinOp()
                | ast.FormattedValue()
                | ast.IfExp()
                | ast.Subscript()
                | ast.If()
                | ast.While()
                | ast.Assert()
                | ast.Expr()
                | ast.Delete()
            ):
                return Use.READ, below
            case _:
                return Use.UNKNOWN, below
    return Use.UNKNOWN, below


def _is_assigned(tree: PythonTree, target: ast.expr) -> bool:
    """Tell whether a target is one of a plain assignment's, and not of a loop or a ``with``."""
    for parent in tree.ancestors(target):
        if not isinstance(parent, (ast.Tuple, ast.List, ast.Starred)):
            return isinstance(parent, (ast.Assign, ast.AnnAssign))
    return False


def is_handed_on(tree: PythonTree, statement: ast.stmt, name: str) -> bool:
    """Tell whether a call in a statement gets a variable, or is one of its own methods, and so may change it."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
            parent, call, *_ = [*tree.ancestors(node), None, None]
            if isinstance(parent, ast.Attribute) and not (
                isinstance(call, ast.Call) and call.func is parent
            ):
                continue  # one of its attributes
            if isinstance(parent, ast.Assign) or use_of(tree, node, 1)[0] is Use.UNKNOWN:
                return True
    return False
