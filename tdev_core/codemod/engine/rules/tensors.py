"""Tells whether an expression is a tensor, from what its function and its class say in the whole text.

A layer's parameter, the result of a torch function or of a tensor's method, an item of a list of tensors,
an annotated name. Asked about ``x.is_cuda`` alone: the statement that says what ``x`` is need not be in the
engine's tree, so Python's own is read, and only for files that ask.
"""

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
    return Tensors(tree, file.tree.source, file.flow.known).is_own_device(asked)
