"""Finds the questions for CUDA that a file asks by a name alone, which the text of the file does not show to be one.

``if SKIP_CUDA_TESTS: raise SkipTest``, of a helper that is not in the tree; ``if not cuda.is_compiled(): raise``, of the project's
own extension; ``if self.use_cuda:`` of a test that is given its parameters. None of these becomes true through tdev, so words
decide. ``@require_cuda`` of another file, which goes on asking for CUDA, is known by that.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.elsewhere import Others
from tdev_core.codemod.engine.python.gates import Gates
from tdev_core.codemod.engine.python.known import Known
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.statements import is_self
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.survey import is_for_tests

_MAY_ASK = re.compile(r"(?:_|only)cuda(?=_|\b)|\bcuda_\w|cuda\.is_|\bself\.cuda\b", re.IGNORECASE)
_IS_THERE = re.compile(
    r"_*(?:is|has|have|with|test|run)_(?:torch_|pytorch_)?cuda(?:_(?:is_)?available|_tests?|_support)?"
    r"|\w*cuda_(?:is_)?(?:available|supported|compiled|built|installed|present|found)",
    re.IGNORECASE,
)
_IS_NOT = re.compile(r"_*(?:no|skip|without|disable)_(?:torch_)?cuda(?:_tests?)?", re.IGNORECASE)
# What stands above a test that it skips: `@requires_cuda`.
_SKIPS = re.compile(
    r"_?(?:(?:requires?|needs?|skip_if_(?:no|not)|skip_if_without|skip_unless|only)_?cuda|cuda_(?:only|required))",
    re.IGNORECASE,
)
_OF_A_TEST = re.compile(r"(?:(?:use|test|with|has|run)_)?cuda", re.IGNORECASE)
_OWN = re.compile(r"(?:\w+\.)*cuda\.is_(?:compiled|built|supported|enabled)\Z")
_FOREIGN = re.compile(r"(?:numba\.cuda|cupy\.cuda|pycuda|cuda)\.is_available\Z")
_TORCHS = re.compile(r"(?:torch(?!\.testing\b)|tdev)(?:\.|\Z)")
_SET_OUTSIDE = re.compile(r"(?:os\.)?(?:getenv|environ\.get)\(")


def asked_by_words(file: File) -> list[tuple[Span, bool]]:
    """Return these questions by their places, and whether each asks for another device instead."""
    tree = file.options.tree
    if tree is None:
        return []
    kept = tree.cudas_questions | tree.cudas_decorators
    source = file.tree.source
    if _MAY_ASK.search(source) is None and not any(name in source for name in kept):
        return []
    python = file.python
    return list(_asked(file, python)) if python is not None else []


def _asked(file: File, python: PythonTree) -> Iterator[tuple[Span, bool]]:
    assert file.options.tree is not None
    imported, _ = python.names
    tree = file.options.tree
    kept = tree.cudas_questions | tree.cudas_decorators
    for name, places in python.reads.items():
        if name in kept and Known.of(tree).is_own(imported.get(name, "?")):
            yield from ((python.span(place), False) for place in places)
            continue
        denied = _IS_NOT.fullmatch(name) is not None
        if name == "cuda" and _TORCHS.match(imported.get(name, "torch")) is None:
            yield from ((span, False) for span in _of_a_module(python, places))
        elif denied or _IS_THERE.fullmatch(name) is not None:
            if name in imported:
                unknown = _TORCHS.match(imported[name]) is None
                unknown = unknown and name not in file.options.tree.bound_for_cuda
            else:
                unknown = "test" in name.lower() and _is_set_outside(python, name)
            if unknown and _is_bound_once(python, name):
                yield from ((python.span(place), denied) for place in places)
        elif _SKIPS.fullmatch(name) is not None and name in imported:
            if name not in file.options.tree.bound_for_cuda:
                yield from ((python.span(place), False) for place in places)
    if is_for_tests(PurePath(file.filename)):
        yield from ((span, False) for span in _of_tests(file, python))


def _of_a_module(python: PythonTree, places: list[ast.Name]) -> Iterator[Span]:
    imported, _ = python.names
    for place in places:
        asked: ast.AST = next(python.ancestors(place))
        if isinstance(asked, ast.Attribute):
            full = f"{imported['cuda']}.{asked.attr}"
            if _OWN.match(full) or _FOREIGN.match(full):
                yield python.span(asked)


def _is_set_outside(python: PythonTree, name: str) -> bool:
    """Tell whether a variable of the module is what the environment says: ``os.getenv("SKIP_CUDA_TESTS")``."""
    return any(
        _SET_OUTSIDE.match(ast.unparse(each.value)) is not None
        for each in python.module.body
        if isinstance(each, ast.Assign) and ast.unparse(each.targets[0]) == name
    )


def _is_bound_once(python: PythonTree, name: str) -> bool:
    """Tell whether nothing else in the file gives a name a value, but the one of a failed import."""
    bound = [
        each
        for each in python.statements
        if isinstance(each, ast.Assign) and any(ast.unparse(t) == name for t in each.targets)
    ]
    told = [each for each in bound if not isinstance(each.value, ast.Constant)]
    return not told or len(bound) == 1 and _is_set_outside(python, name)


def _of_tests(file: File, python: PythonTree) -> Iterator[Span]:
    """Yield the parameters of tests that say CUDA and that nothing of the tree sets."""
    gates = Gates(python, (), (), (), Others(file.options.tree, file.tree.source))
    for node in python.everything:
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if _OF_A_TEST.fullmatch(node.attr) and is_self(node.value) and gates.is_unset(node):
                above = next(python.ancestors(node))
                if not (isinstance(above, ast.Call) and above.func is node):
                    yield python.span(node)
