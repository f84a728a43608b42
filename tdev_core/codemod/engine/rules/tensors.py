"""Asks Python's tree of the whole text what a statement that the engine's tree need not have says of a tensor or a device."""

from __future__ import annotations

import ast

import libcst as cst

from tdev_core.codemod.engine.file import File


def is_tensor(file: File, node: cst.BaseExpression) -> bool:
    """Tell whether an expression is certainly a tensor."""
    asked, devices = _asked(file, node), file.devices
    return asked is not None and devices is not None and devices.is_tensor(asked)


def is_own_device(file: File, node: cst.BaseExpression) -> bool:
    """Tell whether an expression is a tensor's device, or another real one, and nothing else, as the whole text shows."""
    asked, devices = _asked(file, node), file.devices
    try:
        return asked is not None and devices is not None and devices.is_own_device(asked)
    except RecursionError:
        return False


def is_placed(file: File, node: cst.BaseExpression) -> bool:
    """Tell whether an expression is a real device where it could have been ``None`` a line before."""
    asked, devices = _asked(file, node), file.devices
    return asked is not None and devices is not None and devices.is_placed(asked)


def _asked(file: File, node: cst.BaseExpression) -> ast.expr | None:
    """Return the expression in Python's tree that an expression of the engine's is."""
    found = file.python.at(file.tree.outer_span(node)) if file.python is not None else None
    return found if isinstance(found, ast.expr) else None
