"""Tells an operator that is registered for CUDA because a kernel computes it from one that torch computes anywhere."""

from __future__ import annotations

import ast

import libcst as cst

from tdev_core.codemod.engine.file import File

_PYTHONS = frozenset(
    "len range int float bool str min max sum abs tuple list dict set zip enumerate isinstance sorted "
    "reversed any all round print ValueError TypeError RuntimeError AssertionError NotImplementedError".split()
)
_TORCHS = ("torch", "math", "typing")


def is_of_a_kernel(file: File, node: cst.CSTNode) -> bool:
    """Tell whether ``@custom_op(…, device_types="cuda")`` stands on a function that calls more than torch and its tensors."""
    python = file.python
    at = python.at(file.tree.span(node)) if python is not None else None
    if python is None or at is None:
        return False
    call = next((p for p in python.ancestors(at) if isinstance(p, ast.Call)), None)
    kinds = [k.value for k in call.keywords if k.arg == "device_types"] if call is not None else []
    if not kinds or "cpu" in ast.unparse(kinds[0]) or "cuda" not in ast.unparse(kinds[0]):
        return False
    home = next((p for p in python.ancestors(at) if isinstance(p, ast.FunctionDef)), None)
    if home is None or not any(at in ast.walk(each) for each in home.decorator_list):
        return True  # handed a function that is not to be seen
    imported, _ = python.names
    return any(
        isinstance(each, ast.Call) and not _is_torchs(each.func, imported, home)
        for statement in home.body
        for each in ast.walk(statement)
    )


def _is_torchs(func: ast.expr, imported: dict[str, str], home: ast.FunctionDef) -> bool:
    """Tell whether what is called is torch's, Python's, or a method of something that the function holds."""
    method = isinstance(func, ast.Attribute)
    root: ast.expr = func
    while isinstance(root, (ast.Attribute, ast.Call, ast.Subscript)):
        root = root.func if isinstance(root, ast.Call) else root.value
    if not isinstance(root, ast.Name):
        return method
    if root.id in imported:
        return imported[root.id].split(".")[0] in _TORCHS
    if root.id in _PYTHONS:
        return True
    held = {each.arg for each in (*home.args.posonlyargs, *home.args.args, *home.args.kwonlyargs)}
    held |= {
        each.id
        for each in ast.walk(home)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    return method and root.id in held
