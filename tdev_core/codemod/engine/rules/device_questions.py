"""Finds the questions whether a device is CUDA's own: ``device == torch.device("cuda")``.

tdev's device is another one off CUDA, where there is no accelerator the CPU's: what is asked there would be answered
with yes. Such a question stays, and what it opens with it. What is asserted of a device, or demanded, is not asked;
nor is it before a move there.
"""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.analysis.kinds import Kind
from tdev_core.codemod.engine.analysis.literals import CUDA_STRING
from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.lines import Span
from tdev_core.codemod.engine.python.tree import PythonTree

_OPERATORS = (ast.Eq, ast.NotEq, ast.In, ast.NotIn)
_ASSERTS = re.compile(r"_*(?:assert|expect|check|verify)", re.IGNORECASE)
CUDAS = re.compile(r"device\([\"']cuda\b")
_RAISES = re.compile(r"\s*raise\b")
_MOVES = re.compile(r"\.cuda\(|\bdevice\([\"']cuda|\.to\([^()]*[\"']cuda")
# What the CPU would compute in as well, were it told to.
_NARROWS = re.compile(r"\bhalf\b|float16|autocast|GradScaler|compile\(")


def questions_of_cudas(file: File, made: cst.CSTNode) -> list[tuple[Span, bool]]:
    """Return where a device of CUDA's by its name is asked for and nothing else, and whether that asks for another.

    Nothing where one of the questions is none, or it goes somewhere else.
    """
    if file.options.style == "accelerator" or not isinstance(made, cst.Call) or not made.args:
        return []
    if CUDA_STRING.match(file.flow.word(made.args[0].value) or "") is None:
        return []
    tree = file.python
    node = tree.at(file.tree.span(made)) if tree is not None else None
    if tree is None or node is None:
        return []
    found = _compared(tree, node)
    if not found or any(_is_no_question(tree, each) for each in found):
        return []
    if asked_of_words(file, made) is not None:
        return []
    return [(tree.span(each), _denies(each)) for each in found]


def asked_of_words(
    file: File, made: cst.CSTNode
) -> tuple[cst.Comparison, cst.BaseExpression] | None:
    """Return the comparison, and what it asks, where that is made of plain words in this file: its type says the same.

    ``self.device = torch.device("cuda" if gpu else "cpu")`` has no index, so that ``self.device == torch.device("cuda")`` asks
    whether it is an accelerator's. So does one with an index of a device that has no other.
    """
    if file.options.style == "accelerator" or not isinstance(made, cst.Call) or len(made.args) != 1:
        return None
    node = file.tree.parents[made]
    node = file.tree.parents[node] if isinstance(node, cst.ComparisonTarget) else node
    word = file.flow.word(made.args[0].value) or ""
    if CUDA_STRING.match(word) is None or not isinstance(node, cst.Comparison):
        return None
    if len(node.comparisons) != 1 or not isinstance(
        node.comparisons[0].operator, (cst.Equal, cst.NotEqual)
    ):
        return None
    sides = (node.left, node.comparisons[0].comparator)
    operand = sides[1] if sides[0] is made else sides[0]
    values = file.flow.all_values(operand)
    of_words = bool(values) and all(_is_of_a_word(file, value, word) for value in values)
    return (node, operand) if of_words else None


def _is_of_a_word(file: File, value: cst.BaseExpression, word: str) -> bool:
    """Tell whether a value is a device by one word for CUDA, or the CPU's: ``torch.device("cuda" if gpu else "cpu")``."""
    if not isinstance(value, cst.Call) or len(value.args) != 1:
        return False
    given = value.args[0].value
    words = file.flow.kinds(given) <= {Kind.CUDA, Kind.OTHER}
    return (
        words
        and file.resolver.torch_name(value.func) == "torch.device"
        and all(string_value(each) in (word, "cpu") for each in _ends(given))
    )


def _ends(given: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(given, cst.IfExp):
        return [*_ends(given.body), *_ends(given.orelse)]
    return [given]


def _compared(tree: PythonTree, node: ast.AST) -> list[ast.Compare]:
    """Return the comparisons that an expression is part of, also by a variable of a function that is only compared."""
    if (asked := _comparison(tree, node)) is not None:
        return [asked]
    kept, *above = tree.ancestors(node)
    home = next((n for n in above if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    match kept:
        case ast.Assign(targets=[ast.Name(id=name)]) if home is not None:
            pass
        case _:
            return []
    uses = [n for n in ast.walk(home) if isinstance(n, ast.Name) and n.id == name]
    found = [_comparison(tree, n) for n in uses if isinstance(n.ctx, ast.Load)]
    asks = [each for each in found if each is not None]
    return asks if len(asks) == len(found) == len(uses) - 1 else []


def _comparison(tree: PythonTree, node: ast.AST) -> ast.Compare | None:
    """Return the comparison of two whose one side an expression is, or is listed in."""
    parents = tree.ancestors(node)
    parent = next(parents)
    if isinstance(parent, (ast.Tuple, ast.List, ast.Set)):
        if not all(CUDAS.search(ast.unparse(each)) for each in parent.elts):
            return None
        parent = next(parents)
    if isinstance(parent, ast.Compare) and len(parent.ops) == 1:
        return parent if isinstance(parent.ops[0], _OPERATORS) else None
    return None


def _denies(asked: ast.Compare) -> bool:
    return isinstance(asked.ops[0], (ast.NotEq, ast.NotIn))


def _is_no_question(tree: PythonTree, asked: ast.Compare) -> bool:
    """Tell whether a comparison is asserted, or demanded, or opens a move to CUDA."""
    below: ast.AST = asked
    for parent in tree.ancestors(asked):
        match parent:
            case ast.Assert():
                return True
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)):
                if _ASSERTS.match(name) is not None:
                    return True
            case ast.If() if below is parent.test:
                arms = (tree.text(parent.body), tree.text(parent.orelse))
                raises = any(_RAISES.match(arm) for arm in arms)
                return raises or _moves(arms[0], _denies(asked))
            case ast.stmt():
                return False
            case _:
                pass
        below = parent
    return False


def _moves(arm: str, denies: bool) -> bool:
    """Tell whether what a test opens is a move to CUDA, and nothing that the CPU would be told as well."""
    return _MOVES.search(arm) is not None and (denies or _NARROWS.search(arm) is None)
