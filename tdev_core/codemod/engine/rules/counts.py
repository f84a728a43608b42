"""Finds counts of devices that must not be 0, and those that are only asked for more than one.

``rank % torch.cuda.device_count()`` and ``mp.spawn(main, nprocs=torch.cuda.device_count())`` take it for
granted that there is a device. On the CPU the count is 0: the first dies of a division by zero, the second
starts nothing and ends well. The CPU answers for one device, so such a count is at least 1.

``torch.cuda.device_count() > 1`` and ``max(n, 1)`` are the same of one device and of none. Where there may be several of them, on
CUDA, torch's answer is the same as tdev's.
"""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.demands import DEMAND, counts

_COUNT = "torch.cuda.device_count"
_ASKS = ("is_available(", "device_count(")


def at_least_one(file: File, found: Reference) -> None:
    """Write ``max(1, …)`` around a count of devices, if the program needs one and does not ask whether there is."""
    call = file.tree.parents[found.node]
    if found.name != _COUNT or found.package == "tdev":
        return
    if isinstance(call, cst.Call) and call.func is found.node and _may_need(file, call):
        tree = file.python
        counted = tree.at(file.tree.span(call)) if tree is not None else None
        if tree is not None and counted is not None and _is_needed(tree, counted):
            inner = file.tree.span(call)
            file.wrap(DEMAND, inner, "max(1, ", inner, ")")


def _may_need(file: File, call: cst.Call) -> bool:
    """Tell by the node at hand: Python's tree is read for these alone."""
    parent = file.tree.parents[call]
    return isinstance(parent, (cst.BinaryOperation, cst.Arg, cst.Assign, cst.AnnAssign))


_SEVERAL = re.compile(
    r"skip.*(?:(?:GPU|CUDA|DEVICE|device_count|gpu|cuda)\w*(?:\(\))? (?:>= [2-9]|> [1-9]|< [2-9])|multi_?gpu)"
)


def _demands_several(node: ast.AST) -> bool:
    """Tell whether a test is skipped where there are not several devices: ``skipif(not NUM_CUDA_DEVICES >= 2)``."""
    return any(
        _SEVERAL.search(ast.unparse(each)) is not None
        for each in getattr(node, "decorator_list", ())
    )


def _is_needed(tree: PythonTree, counted: ast.AST) -> bool:
    parents = list(tree.ancestors(counted))
    if any(isinstance(p, (ast.If, ast.IfExp)) and _asks(p.test) for p in parents):
        return False
    if any(_demands_several(p) for p in parents):
        return False
    match parents[0]:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            homes = (p for p in parents if isinstance(p, (ast.FunctionDef, ast.AsyncFunctionDef)))
            return _name_is_needed(next(homes, tree.module), name)
        case ast.keyword():
            return _needs(parents[1], counted)
        case parent:
            return _needs(parent, counted)


def asks_for_several(file: File, found: Reference) -> bool:
    """Tell whether a count, or a question beside one, only decides whether there is more than one device.

    ``n = torch.cuda.device_count() if torch.cuda.is_available() else 0``, of which ``n > 1`` is all that a function asks.
    """
    call = file.tree.parents[found.node]
    if not isinstance(call, cst.Call) or "device_count" not in file.tree.source:
        return False
    tree = file.python
    asked = tree.at(file.tree.span(call)) if tree is not None else None
    if tree is None or not isinstance(asked, ast.Call):
        return False
    below: ast.AST = asked
    for parent in tree.ancestors(asked):
        match parent:
            case ast.Compare():
                return found.name == _COUNT and _is_of_several(parent, below)
            case ast.BoolOp(op=ast.And(), values=values):
                if any(_counts_several(each) for each in values):
                    return True
            case ast.IfExp(test=test, body=body, orelse=ast.Constant(value=0 | 1)):
                counts = below if found.name == _COUNT else body
                if counts is not body or below not in (test, body) or not _is_a_count(counts):
                    return False
            case ast.Call(func=ast.Name(id="max")):
                return found.name == _COUNT and _is_at_least_one(parent)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                homes = (p for p in tree.ancestors(parent) if isinstance(p, _FUNCTIONS))
                home = next(homes, None)
                counted = _COUNTS.search(ast.unparse(value)) is not None
                return counted and home is not None and _means_several(home, name)
            case _:
                return False
        below = parent
    return False


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COUNTS = re.compile(r"\bcuda\.device_count\(")


def beside_several(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question is asked only where there are several devices: ``torch.cuda.device_count() > 1 and …``."""
    around = file.tree.parents[node]
    if not isinstance(around, cst.BooleanOperation) or "device_count" not in file.tree.source:
        return False
    while isinstance(above := file.tree.parents[around], cst.BooleanOperation):
        around = above
    tree = file.python
    asked = tree.at(file.tree.span(around)) if tree is not None else None
    return (
        isinstance(asked, ast.BoolOp)
        and isinstance(asked.op, ast.And)
        and any(map(_counts_several, asked.values))
    )


def in_an_arm_of_several(file: File, node: cst.CSTNode) -> bool:
    """Tell whether something is reached only where there are several devices: ``if torch.cuda.device_count() > 1: …``."""
    below: cst.CSTNode = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.If) and below is parent.body:
            if _SEVERAL_THERE.fullmatch(file.tree.text(parent.test)) is not None:
                return True
        elif isinstance(parent, (cst.FunctionDef, cst.ClassDef)):
            return False
        below = parent
    return False


_SEVERAL_THERE = re.compile(
    r"(?:\w+\.)*cuda\.device_count\(\)\s*(?:>\s*[1-9]\d*|>=\s*(?:[2-9]|[1-9]\d+))"
)


def _is_a_count(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func).endswith("cuda.device_count")


def _is_at_least_one(call: ast.Call) -> bool:
    """Tell whether the largest of two numbers is no less than one: ``max(1, n)``."""
    return len(call.args) == 2 and any(
        isinstance(each, ast.Constant) and each.value == 1 for each in call.args
    )


def _counts_several(node: ast.AST) -> bool:
    match node:
        case ast.Compare(left=ast.Call() as counted, ops=[ast.Gt() | ast.GtE()]):
            return _is_a_count(counted) and _is_of_several(node, counted)
        case _:
            return False


def _is_of_several(node: ast.Compare, counted: ast.AST) -> bool:
    """Tell whether a comparison asks for more than one of what is counted."""
    if node.left is not counted or len(node.ops) != 1:
        return False
    match node.ops[0], node.comparators[0]:
        case ((ast.Gt() | ast.LtE()), ast.Constant(value=int(least))):
            return least >= 1
        case ((ast.GtE() | ast.Lt()), ast.Constant(value=int(least))):
            return least >= 2
        case _:
            return False


def _means_several(home: ast.AST, name: str) -> bool:
    """Tell whether a function asks a variable for more than one, and uses it nowhere but where there are."""
    asked = False
    stored = 0
    todo: list[ast.AST] = [home]
    while todo:
        node = todo.pop()
        match node:
            case ast.If(test=ast.Compare(left=ast.Name(id=each) as left) as test) if (
                each == name and isinstance(test.ops[0], (ast.Gt, ast.GtE))
            ):
                if not _is_of_several(test, left):
                    return False
                asked = True
                todo += node.orelse
            case ast.Call(func=ast.Name(id="max"), args=[*args]) if name in map(
                ast.unparse, args
            ) and _is_at_least_one(node):
                asked = True
            case ast.Global(names=names) | ast.Nonlocal(names=names) if name in names:
                return False
            case ast.Name(id=each) if each == name:
                if isinstance(node.ctx, ast.Load):
                    return False
                stored += 1
            case _:
                todo += ast.iter_child_nodes(node)
    return asked and stored == 1


def _asks(test: ast.expr) -> bool:
    return any(word in ast.unparse(test) for word in _ASKS)


def _needs(parent: ast.AST, counted: ast.AST) -> bool:
    """Tell whether the node around a count cannot do with 0."""
    match parent:
        case ast.BinOp(op=ast.Mod() | ast.FloorDiv() | ast.Div(), right=right):
            return right is counted
        case ast.Call(func=ast.Name(id="divmod"), args=[_, second]):
            return second is counted
        case ast.Call(func=func, args=args, keywords=keywords):
            spawns = ast.unparse(func).rpartition(".")[2] in ("spawn", "start_processes")
            named = any(k.arg == "nprocs" and k.value is counted for k in keywords)
            return spawns and (named or len(args) > 2 and args[2] is counted)
        case _:
            return False


def _name_is_needed(home: ast.AST, name: str) -> bool:
    """Tell whether a variable, set once in a function or a file, is needed somewhere and nowhere asked about."""
    parents = {child: node for node in ast.walk(home) for child in ast.iter_child_nodes(node)}
    needed = False
    stored = 0
    for node, parent in parents.items():
        if not isinstance(node, ast.Name) or node.id != name:
            continue
        if not isinstance(node.ctx, ast.Load):
            stored += 1
        elif _chooses(parent, node):
            return False
        else:
            call = parents[parent] if isinstance(parent, ast.keyword) else parent
            needed = needed or _needs(call, node)
    return needed and stored == 1


def _chooses(parent: ast.AST, name: ast.Name) -> bool:
    """Tell whether a name is asked whether there is a device at all: ``if n:``, ``n > 0``."""
    match parent:
        case (
            ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test)
        ):
            return test is name
        case ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.Call(func=ast.Name(id="bool")):
            return True
        case ast.Compare(left=left):
            return left is not name or counts(parent) is not None
        case _:
            return False
