"""Finds seeds of CUDA's generators beside ``torch.manual_seed``, which seeds those of every accelerator.

See https://docs.pytorch.org/docs/stable/generated/torch.manual_seed.html. Whose name they go by changes nothing.
"""

from __future__ import annotations

import ast
import re

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.statements import full_name
from tdev_core.codemod.engine.python.tree import PythonTree

_SEEDS = frozenset({"torch.cuda.manual_seed", "torch.cuda.manual_seed_all"})
_SEED_ALL = ("torch.manual_seed", "tdev.manual_seed")
_SEEDS_CUDA = re.compile(r"(?:\w+\.)*cuda\.manual_seed(?:_all)?\Z")
_ASKS = re.compile(r"(?:\w+\.)*cuda\.is_available\(\)\Z")
_OF_CUDNN = re.compile(r"(?:\w+\.)*cudnn\.\w+\Z")
# What is called or set between seeds: other generators, settings, the environment's hash seed.
_OF_SEEDS = re.compile(r"seed|cudnn|deterministic", re.IGNORECASE)


def is_seeded_already(file: File, found: Reference) -> str | None:
    """Say what a name does that ``torch.manual_seed`` right beside it does: it seeds, or asks for CUDA before nothing but seeds."""
    if "manual_seed" not in file.tree.source or (tree := file.python) is None:
        return None
    call = tree.at(file.tree.span(file.tree.parents[found.node]))
    if not isinstance(call, ast.Call):
        return None
    stands = next(tree.ancestors(call))
    asks = found.name not in _SEEDS
    seeds = _opened(stands, call) if asks else [call]
    if isinstance(stands, ast.Expr):
        opened = next(tree.ancestors(stands))
        # `if torch.cuda.is_available(): torch.cuda.manual_seed(seed)`
        if isinstance(opened, ast.If) and _ASKS.match(ast.unparse(opened.test)):
            stands = opened if _opened(opened, opened.test) else stands
    if not isinstance(stands, (ast.Expr, ast.If)) or not seeds:
        return None
    if not all(_is_beside(tree, stands, _given(each)) for each in seeds):
        return None
    return "opens nothing but what" if asks else "does what"


def _given(call: ast.Call) -> str:
    keywords = [each.value for each in call.keywords if each.arg == "seed"]
    return ", ".join(map(ast.unparse, [*call.args, *keywords]))


def _is_beside(tree: PythonTree, statement: ast.stmt, number: str) -> bool:
    """Tell whether all generators are seeded by the same number in the same block, with nothing but more of it between."""
    block = tree.block(statement)
    at = block.index(statement) if statement in block else 0
    for near in (reversed(block[:at]), block[at + 1 :]):
        for each in near:
            if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call):
                if full_name(each.value.func, tree.names[0]) in _SEED_ALL:
                    if _given(each.value) == number:
                        return True
                    break
            if not _only_seeds(each):
                break
    return False


def _only_seeds(statement: ast.stmt) -> bool:
    """Tell whether a statement draws nothing: it seeds a generator, or sets what makes a run repeatable."""
    match statement:
        case ast.Expr(value=ast.Call(func=said)):
            return _OF_SEEDS.search(ast.unparse(said)) is not None
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript() as said]):
            return _OF_SEEDS.search(ast.unparse(said)) is not None
        case ast.If(body=body, orelse=orelse):
            return all(map(_only_seeds, [*body, *orelse]))
        case _:
            return False


def _opened(choice: ast.AST, asked: ast.expr) -> list[ast.Call]:
    """Return the seeds that a question opens, if it opens nothing but them and settings of cuDNN."""
    if not isinstance(choice, ast.If) or choice.test is not asked or choice.orelse:
        return []
    seeds: list[ast.Call] = []
    for statement in choice.body:
        match statement:
            case ast.Expr(value=ast.Call(func=func) as call) if _SEEDS_CUDA.match(
                ast.unparse(func)
            ):
                seeds.append(call)
            case ast.Assign(targets=[target]) if _OF_CUDNN.match(ast.unparse(target)):
                pass
            case _:
                return []
    return seeds
