"""Finds counts of devices that must not be 0: what is divided by one, or starts as many processes.

``rank % torch.cuda.device_count()`` and ``mp.spawn(main, nprocs=torch.cuda.device_count())`` take it for
granted that there is a device. On the CPU the count is 0: the first dies of a division by zero, the second
starts nothing and ends well. The CPU answers for one device, so such a count is at least 1.
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
