"""Tells which devices are those that torch itself says are there, MPS among them: a load that is told one needs no translation.

``device = best_device()``, of a function of the file that gives ``"cuda"``, ``"mps"`` or ``"cpu"``, each behind the question for
it. Such questions stay, so that no other name comes from there. A private function is told it by its callers.
"""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.statements import (
    argument_of,
    bound_by,
    last_name,
    plain_parameters,
    within,
)
from tdev_core.codemod.engine.python.tree import PythonTree

_DEEP = 3
_THERE = {
    "cuda": re.compile(r"torch\.cuda\.(?:is_available\(\)|device_count\(\) > 0)"),
    "mps": re.compile(r"torch\.backends\.mps\.is_available\(\)"),
}
_PRIVATE = re.compile(r"_[a-zA-Z]\w*\Z")


def is_there_by_torch(file: File, value: cst.BaseExpression | None) -> bool:
    """Tell whether a variable holds nothing but the CPU's name and what such functions give."""
    if not isinstance(value, cst.Name) or "mps.is_available()" not in file.code:
        return False
    tree = file.python
    node = tree.at(file.tree.span(value)) if tree is not None else None
    if tree is None or not isinstance(node, ast.Name):
        return False
    _ = tree.everything
    return _is_there(tree, node, _DEEP)


def _is_there(tree: PythonTree, node: ast.expr, deep: int) -> bool:
    match node:
        case ast.Constant(value=value):
            return value == "cpu"
        case ast.Call(func=ast.Name(id=name)):
            chooser = tree.names[1].get(name)
            return isinstance(chooser, ast.FunctionDef) and _chooses_among_them(tree, chooser)
        case ast.Name(id=name) if deep:
            pass
        case _:
            return False
    home = next((p for p in tree.ancestors(node) if isinstance(p, ast.FunctionDef)), None)
    if home is None:
        return False
    if name in [each.arg for each in plain_parameters(home)]:
        untouched = not any(name in bound_by(each) for each in ast.walk(home))
        return untouched and _is_told(tree, home, name, deep - 1)
    values = _values(home, name)
    return bool(values) and all(_is_there(tree, each, deep - 1) for each in values)


def _values(home: ast.FunctionDef, name: str) -> list[ast.expr]:
    """Return what a function gives one of its variables; nothing where it does so in another way than by assignments."""
    given = [
        each.value
        for each in ast.walk(home)
        if isinstance(each, ast.Assign)
        and any(isinstance(target, ast.Name) and target.id == name for target in each.targets)
    ]
    return given if len(given) == sum(name in bound_by(each) for each in ast.walk(home)) else []


def _is_told(tree: PythonTree, home: ast.FunctionDef, parameter: str, deep: int) -> bool:
    """Tell whether each caller of a private function tells it such a device, those among them that call it by a ``partial``."""
    if home.decorator_list or not _PRIVATE.match(home.name) or home not in tree.module.body:
        return False
    calls: list[ast.Call] = []
    for read in tree.reads.get(home.name, []):
        match next(tree.ancestors(read)):
            case ast.Call(func=func) as call if func is read:
                calls.append(call)
            case ast.Call(func=func, args=[first]) as made if first is read:
                kept = next(tree.ancestors(made))
                if last_name(func) != "partial" or not isinstance(kept, ast.Assign):
                    return False
                if any(keyword.arg in (None, parameter) for keyword in made.keywords):
                    return False
                calls_by_it = _calls_by(tree, kept)
                if calls_by_it is None:
                    return False
                calls += calls_by_it
            case _:
                return False
    at = [each.arg for each in plain_parameters(home)].index(parameter)
    told = [argument_of(call, parameter, at) for call in calls]
    return bool(told) and all(each is not None and _is_there(tree, each, deep) for each in told)


def _calls_by(tree: PythonTree, kept: ast.Assign) -> list[ast.Call] | None:
    """Return the calls of the variable that a function keeps a ``partial`` in; None where it does more with that."""
    home = next((p for p in tree.ancestors(kept) if isinstance(p, ast.FunctionDef)), None)
    match kept.targets:
        case [ast.Name(id=name)] if home is not None:
            pass
        case _:
            return None
    calls: list[ast.Call] = []
    for node in within(home):
        if not isinstance(node, ast.Name) or node.id != name or node is kept.targets[0]:
            continue
        match next(tree.ancestors(node)):
            case ast.Call(func=func) as call if func is node:
                calls.append(call)
            case _:
                return None
    return calls


def _chooses_among_them(tree: PythonTree, chooser: ast.FunctionDef) -> bool:
    """Tell whether a function gives CUDA's name and that of MPS, each where torch says that it is there, or else the CPU's."""
    if "mps.is_available()" not in ast.unparse(chooser):
        return False  # its question would be answered for the device in use
    returned = [n.value for n in within(chooser) if isinstance(n, ast.Return)]
    values: list[ast.expr | None] = []
    for each in returned:
        given = _values(chooser, each.id) if isinstance(each, ast.Name) else [each]
        if not given:
            return False
        values += given
    return bool(values) and all(_is_asked_for(tree, each) for each in values)


def _is_asked_for(tree: PythonTree, value: ast.expr | None) -> bool:
    match value:
        case ast.Constant(value="cpu"):
            return True
        case ast.Constant(value="cuda" | "mps" as word):
            pass
        case _:
            return False
    below: ast.AST = value
    for parent in tree.ancestors(value):
        if isinstance(parent, ast.If) and below in parent.body:
            test = parent.test
            both = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And)
            for each in test.values if isinstance(test, ast.BoolOp) and both else [test]:
                if _THERE[word].fullmatch(ast.unparse(each)):
                    return True
        if isinstance(parent, ast.FunctionDef):
            return False
        below = parent
    return False
