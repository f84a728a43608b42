"""Finds the tests that stay CUDA's with what skips them.

They assert its name, or try its flash attention; or leave the device to the code that they test, which knows MPS.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.speaks_of_others import tests_what_knows_mps
from tdev_core.codemod.engine.vocabulary import without_prose

# `self.assertEqual(p.device.type, "cuda")`, which no rule has a spelling for.
_OF_CUDA = re.compile(
    r"\bassert\w+\((?:[^()\"']|\([^()]*\))*[\"']cuda(?::\d+)?[\"']|(?i:(?<![a-z])flash(?![a-z]))"
)
_TEST = re.compile(r"\bdef[ \t]+test")
_SKIPS = re.compile(r"(?:\w+\.)*skip(?:if|unless)\(", re.IGNORECASE)


def skips_a_test_of_cudas(file: File, question: cst.CSTNode) -> bool:
    """Tell whether a question skips a test where CUDA is not, or whether tests are there at all, that hold on CUDA alone."""
    below, denied = question, False
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.UnaryOperation):
            denied = True
        elif isinstance(parent, cst.Decorator):
            test = file.tree.parents[parent]
            skips = _SKIPS.match(text := file.tree.text(parent.decorator))
            where_not = denied or "unless" in text.partition("(")[0].lower()
            named = isinstance(test, cst.FunctionDef) and test.name.value.startswith("test")
            return bool(skips) and where_not and named and _is_of_cuda(file, test)
        elif isinstance(parent, cst.If) and below is parent.test:
            tests = file.tree.source[slice(*file.tree.span(parent.body))]
            return _TEST.search(tests) is not None and _is_of_cuda(file, parent.body)
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
        below = parent
    return False


def _is_of_cuda(file: File, node: cst.CSTNode) -> bool:
    text = file.tree.source[slice(*file.tree.span(node))]
    return _OF_CUDA.search(without_prose(text)) is not None


_Test = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def skips_a_test_of_no_device(file: File, question: cst.CSTNode) -> bool:
    """Tell whether all that a question decides is whether tests are run that name no device, of code that knows MPS.

    That chooses a device for itself, and goes on choosing so; what is asked is whether it has come to CUDA.
    """
    if "skip" not in file.tree.source or not tests_what_knows_mps(file):
        return False
    python = file.python
    asked = python.at(file.tree.span(question)) if python is not None else None
    if python is None or asked is None:
        return False
    skipped = list(_skipped_by(python, asked))
    return bool(skipped) and not any(
        each is None or _names_a_device(file, python, each) for each in skipped
    )


def _skipped_by(
    python: PythonTree, asked: ast.AST, *, kept: bool = False
) -> Iterator[_Test | None]:
    """Yield the tests that an answer skips, by a variable of the module, too; None where it does anything else."""
    below = asked
    for parent in python.ancestors(asked):
        match parent:
            case ast.Call(func=func) if func is below:
                pass
            case ast.UnaryOp() | ast.BoolOp() | ast.keyword():
                pass
            case ast.Call(func=func) if _SKIPS.match(ast.unparse(func) + "("):
                pass
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield parent if below in parent.decorator_list else None
                return
            case ast.Assign(targets=[ast.Name(id=name)]) if not kept:
                if next(python.ancestors(parent), None) is not python.module:
                    break
                for node in python.everything:
                    if (
                        isinstance(node, ast.Name)
                        and node.id == name
                        and node not in parent.targets
                    ):
                        yield from _skipped_by(python, node, kept=True)
                return
            case _:
                break
        below = parent
    yield None


_A_DEVICE = re.compile(r"cuda|gpu|device", re.IGNORECASE)
_PREPARES = re.compile(r"set_?up", re.IGNORECASE)


def _names_a_device(file: File, python: PythonTree, test: _Test) -> bool:
    """Tell whether a test names a device, or what it calls of its file does, or what prepares it."""
    todo: list[ast.stmt] = [test]
    around = next(python.ancestors(test), None)
    if isinstance(around, ast.ClassDef):
        todo += [m for m in around.body if _PREPARES.match(getattr(m, "name", ""))]
    calls = (ast.unparse(d) for d in test.decorator_list if isinstance(d, ast.Call))
    if any(_A_DEVICE.search(each) and not _SKIPS.match(each) for each in calls):
        return True
    seen: set[ast.stmt] = set()
    functions = {n.name: n for n in python.statements if isinstance(n, ast.FunctionDef)}
    while todo:
        each = todo.pop()
        seen.add(each)
        code = file.code[slice(*python.span(each))]
        if _A_DEVICE.search(code) is not None:
            return True
        called = {functions[name] for name in _CALLED.findall(code) if name in functions}
        todo += called - seen
    return False


_CALLED = re.compile(r"(?<![\w.])(?:self\.|cls\.)?(\w+)\(")
