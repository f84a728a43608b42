"""Finds what tests say of functions that refuse a device: by an error which they expect.

``with raises(ValueError, match="only on CUDA"): load(name, device="cpu", quantized=q)``: what is loaded so goes on refusing all but
CUDA, whichever device tdev has. And where ``load(name, device="cuda")`` itself is expected to fail, it does no more.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.arms import ARMS
from tdev_core.codemod.engine.survey import is_for_tests

_RAISES = re.compile(r"(?:\w+\.)*(?:raises|assertRaises|assertRaisesRegex)\Z")
_ONLY_CUDA = re.compile(r"\bCUDA\b")
# What torch raises where a device is not there.
_NOT_THERE = re.compile(r"\b(?:AssertionError|RuntimeError|Exception)\b")
_WORD = re.compile(r"cuda(?::\d+)?\Z")
_ASKS = re.compile(r"\bnot\b[^\n]*(?:cuda|gpu)", re.IGNORECASE)
_OTHERS_TOO = frozenset({"device", "device_map", "map_location"})


def expected_failures(file: File) -> None:
    """Leave what a test hands a function that it expects to refuse all but CUDA, and report where it expects CUDA's name to be."""
    source = file.tree.source
    if "cuda" not in source or "aises" not in source:
        return
    if file.options.all or file.options.program:
        return
    if not (file.options.test or is_for_tests(PurePath(file.filename))):
        return
    tree = file.python if "raises(" in source or "assertRaises" in source else None
    if tree is None:
        return
    refusing: set[tuple[str, frozenset[str]]] = set()
    inside: set[ast.Call] = set()
    for expected, call in _expected(tree):
        inside.add(call)
        if _ONLY_CUDA.search(ast.unparse(expected)) is not None:
            refusing.add(_made(call))
        elif _says_cuda(call) and _is_where_none_is(tree, expected):
            said = "expects that CUDA's name is refused where there is no CUDA, and tdev refuses it nowhere"
            file.find_at(ARMS, tree.span(call)[0], said, "warning")
    for node in tree.everything if refusing else ():
        if isinstance(node, ast.Call) and node not in inside and _made(node) in refusing:
            if _says_cuda(node):
                span = tree.span(node)
                file.untouched.append(span)
                said = f"a test expects {ast.unparse(node.func)} to refuse what is not CUDA's; left as it is"
                file.find_at(ARMS, span[0], said, "note")


def _expected(tree: PythonTree) -> Iterator[tuple[ast.Call, ast.Call]]:
    """Yield each error that is expected, and the calls of the program's that it is expected of."""
    for node in tree.statements:
        if not isinstance(node, ast.With) or len(node.body) != 1:
            continue
        called = getattr(node.body[0], "value", None)
        for item in node.items:
            expected = item.context_expr
            if isinstance(expected, ast.Call) and _RAISES.match(ast.unparse(expected.func)):
                if isinstance(called, ast.Call) and not ast.unparse(called.func).startswith(
                    "torch."
                ):
                    yield expected, called


def _made(call: ast.Call) -> tuple[str, frozenset[str]]:
    """Return what is called, and what it is told beside the device."""
    told = frozenset(each.arg or "" for each in call.keywords)
    return ast.unparse(call.func), told - _OTHERS_TOO


def _says_cuda(call: ast.Call) -> bool:
    return any(
        isinstance(each, ast.Constant) and _WORD.match(str(each.value)) is not None
        for each in ast.walk(call)
    )


def _is_where_none_is(tree: PythonTree, expected: ast.Call) -> bool:
    """Tell whether torch's own error is expected in an arm for where there is no CUDA: ``if not has_gpu():``."""
    if not expected.args or _NOT_THERE.search(ast.unparse(expected.args[0])) is None:
        return False
    _ = tree.everything  # which gives all of them ancestors
    return any(
        isinstance(above, ast.If) and _ASKS.search(ast.unparse(above.test)) is not None
        for above in tree.ancestors(expected)
    )
