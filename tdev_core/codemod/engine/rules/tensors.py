"""Asks Python's tree of the whole text what a statement that the engine's tree need not have says of a tensor or a device."""

from __future__ import annotations

import ast

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tensors import Tensors


def is_tensor(file: File, node: cst.BaseExpression) -> bool:
    """Tell whether an expression is certainly a tensor."""
    tree = file.python
    asked = tree.at(file.tree.outer_span(node)) if tree is not None else None
    if tree is None or not isinstance(asked, ast.expr):
        return False
    return Tensors(tree, file.tree.source).is_tensor(asked)


def is_own_device(file: File, node: cst.BaseExpression) -> bool:
    """Tell whether an expression is a tensor's device, or another real one, and nothing else, as the whole text shows."""
    tree = file.python
    asked = tree.at(file.tree.outer_span(node)) if tree is not None else None
    if tree is None or not isinstance(asked, ast.expr):
        return False
    try:
        return Tensors(tree, file.tree.source, file.flow.known).is_own_device(asked)
    except RecursionError:
        return False
