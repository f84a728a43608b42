"""Finds kernels that a question decides about without opening an arm for them: a flag beside it, a docstring, what follows."""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import enclosing_function

_FLAG = re.compile(
    r"(?<![\w.])_?(?:is|has|IS|HAS)_(?:cuda|CUDA|nvidia|NVIDIA)(?!\w*(?i:avail))\w*\b(?!\s*[.=])"
)
# An attribute that says what CUDA is good for somewhere: `BACKENDS[name].supports_cuda`.
_SUPPORTED = re.compile(r"\.(?:supports?|needs|requires?|wants)_cuda\b(?!\s*\()")


def beside_a_flag(file: File, condition: cst.CSTNode) -> bool:
    """Tell whether a condition asks for CUDA by a flag, too, that other modules answer: it stays, and so does the whole.

    ``_is_cuda and x.is_cuda``, with ``_is_cuda = is_cuda()``, and ``x.is_cuda and backend.supports_cuda``.
    """
    if _SUPPORTED.search(file.tree.text(condition)) is not None:
        return True
    for flag in _FLAG.findall(file.tree.text(condition)):
        made = re.search(rf"^{flag}[ \t]*=[ \t]*([\w.]+)\(\)", file.tree.source, re.MULTILINE)
        if made is not None and ".cuda" not in made[1]:
            return True
        if made is None and file.python is not None and flag in file.python.names[0]:
            return True
    return False


_ABOUT_KERNELS = re.compile(
    r"\btriton\b|\bkernel(?:'s|s)?\b[^.]*\b(?:compil|launch)|\b(?:compil|launch)\w*[^.]*\bkernels?\b",
    re.IGNORECASE,
)


def is_about_a_kernel(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the docstring of the function that a question opens says that a kernel is compiled or started there."""
    home = enclosing_function(file, node)
    return home is not None and _ABOUT_KERNELS.search(home.get_docstring() or "") is not None


def prepares_for_a_kernel(file: File, question: cst.CSTNode, choice: cst.If) -> bool:
    """Tell whether an arm changes what is asked about, which then goes to what chooses a kernel by the same question.

    ``if not x.is_cuda: x = log_softmax(x)``, and then ``Loss.apply(x)``.
    """
    if not isinstance(question, cst.Attribute) or not isinstance(question.value, cst.Name):
        return False
    tree, cudas, name = file.python, file.cudas, question.value.value
    at = tree.at(file.tree.span(question)) if tree is not None else None
    if tree is None or at is None or cudas is None or not cudas.choosers:
        return False
    around = list(tree.ancestors(at))
    asked = next((p for p in around if isinstance(p, ast.If)), None)
    home = next((p for p in around if isinstance(p, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if asked is None or home is None:
        return False
    changed = {n.id for s in asked.body for n in ast.walk(s) if isinstance(n, ast.Name)}
    if name not in changed or not any(_binds(s, name) for s in asked.body):
        return False
    return any(
        isinstance(node, ast.Call)
        and node.lineno > (asked.end_lineno or 0)
        and _called(node) in cudas.choosers
        and any(is_named(each, name) for each in node.args)
        for node in ast.walk(home)
    )


def _binds(statement: ast.stmt, name: str) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)
        for node in ast.walk(statement)
    )


def _called(call: ast.Call) -> str:
    """Return what a call calls, as the choosers of a file are named: ``Loss.apply(x)`` calls ``Loss``."""
    func = call.func
    if isinstance(func, ast.Attribute) and func.attr == "apply":
        func = func.value
    return ast.unparse(func)


def is_named(node: ast.expr, name: str) -> bool:
    """Tell whether an expression is the name alone, or the attribute ``self.name``."""
    return isinstance(node, (ast.Name, ast.Attribute)) and ast.unparse(node) == name
