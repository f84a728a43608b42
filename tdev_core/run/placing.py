"""Puts an import of tdev's own into a program that is rewritten in memory."""

from __future__ import annotations

import ast

__all__ = ["import_into"]


def import_into(tree: ast.Module, module: str, name: str) -> None:
    """Import ``module`` as ``name`` in the module ``tree``, after its docstring and its ``__future__`` imports."""
    position = 0
    for statement in tree.body:
        text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not (text or future):
            break
        position += 1
    first = tree.body[min(position, len(tree.body) - 1)]
    alias = ast.copy_location(ast.alias(module, name), first)
    tree.body.insert(position, ast.copy_location(ast.Import([alias]), first))
