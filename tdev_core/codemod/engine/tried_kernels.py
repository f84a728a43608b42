"""Finds the names of a module that are there only where its kernels for CUDA were built, or are installed.

``try: ops = load(sources=["ops.cu"]); def fused(x): … except Exception: fused = None``: whoever imports ``fused`` behind a
question for CUDA asks for that. What else the module has, a way for the CPU say, is not told by it.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator

from tdev_core.codemod.engine.python.statements import bound_by

_SIGNS = (b".cu", b"import fused_", b"_cuda")
_MAY_BUILD = re.compile(
    rb"\.cuh?[\"']|^[ \t]+import[ \t]+(?:fused_\w+|\w+_cuda)[ \t\r]*$", re.MULTILINE
)
_AT_THE_MARGIN = re.compile(rb"^try[ \t]*:", re.MULTILINE)
_EXTENSION = re.compile(r"fused_\w+|\w+_cuda")
_ANYTHING = "*"


def tried_kernels(raw: bytes) -> Iterator[str]:
    """Yield the names that a module binds beside the kernels that it tries to build or to import, and nowhere else but to None."""
    if b"try" not in raw or not any(sign in raw for sign in _SIGNS):
        return
    # Few files get further: those are read by Python's parser, which takes longer.
    if _MAY_BUILD.search(raw) is None or _AT_THE_MARGIN.search(raw) is None:
        return
    module = _parsed(raw)
    if module is None:
        return
    for tried in module.body:
        if isinstance(tried, ast.Try) and tried.handlers and _builds(tried):
            others = _bound_besides(module, tried)
            if _ANYTHING not in others:
                yield from sorted(_bound(tried) - others)


def _parsed(raw: bytes) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(raw)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def _builds(tried: ast.Try) -> bool:
    """Tell whether kernels are built from their sources there, or imported."""
    for node in (each for statement in tried.body for each in ast.walk(statement)):
        match node:
            case ast.Constant(value=str(text)) if text.endswith((".cu", ".cuh")):
                return True
            case ast.Import(names=[ast.alias(name=name, asname=None)]) if _EXTENSION.fullmatch(
                name
            ):
                return True
            case _:
                pass
    return False


def _bound(tried: ast.Try) -> set[str]:
    """Return the functions and variables that a ``try`` makes, whatever else happens."""
    names: set[str] = set()
    for statement in tried.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
                names.add(name)
            case _:
                pass
    return names


def _bound_besides(module: ast.Module, tried: ast.Try) -> set[str]:
    """Return what the rest of a module binds to something, be it in a function: that may say ``global``."""
    names: set[str] = set()
    stack: list[ast.AST] = [
        *(each for each in module.body if each is not tried),
        *tried.handlers,
        *tried.orelse,
        *tried.finalbody,
    ]
    while stack:
        node = stack.pop()
        match node:
            case ast.Assign(value=ast.Constant(value=None)):
                continue
            case ast.AnnAssign(value=None | ast.Constant(value=None)):
                continue
            # `globals()["fused"] = …`
            case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Store()):
                names.add(name)
            case _:
                names.update(bound_by(node))
        stack.extend(ast.iter_child_nodes(node))
    return names
