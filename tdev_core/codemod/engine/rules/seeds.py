"""Finds seeds of CUDA's generators beside ``torch.manual_seed``, which seeds those of every accelerator.

See https://docs.pytorch.org/docs/stable/generated/torch.manual_seed.html. Whose name they go by changes nothing.
"""

from __future__ import annotations

import ast
import re

from tdev_core.codemod.engine.analysis.resolve import Reference
from tdev_core.codemod.engine.file import File

_SEEDS = frozenset({"torch.cuda.manual_seed", "torch.cuda.manual_seed_all"})
_SEEDS_CUDA = re.compile(r"(?:\w+\.)*cuda\.manual_seed(?:_all)?\Z")
_SEEDS_ALL = re.compile(r"(?:torch|th|tdev)\.manual_seed\Z")
_OF_CUDNN = re.compile(r"(?:\w+\.)*cudnn\.\w+\Z")


def is_seeded_already(file: File, found: Reference) -> bool:
    """Tell whether a name seeds CUDA's generators where all are seeded alike, or asks for CUDA before nothing else."""
    if "manual_seed" not in file.tree.source or (tree := file.python) is None:
        return False
    call = tree.at(file.tree.span(file.tree.parents[found.node]))
    if not isinstance(call, ast.Call):
        return False
    above = list(tree.ancestors(call))
    home = next((p for p in above if isinstance(p, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    seeds = [call] if found.name in _SEEDS else _opened(above[0], call)
    everything = [each for each in ast.walk(home or tree.module) if isinstance(each, ast.Call)]
    given = {
        ast.unparse(each.args[0])
        for each in everything
        if each.args and _SEEDS_ALL.match(ast.unparse(each.func))
    }
    return bool(seeds) and all(each.args and ast.unparse(each.args[0]) in given for each in seeds)


def _opened(choice: ast.AST, asked: ast.Call) -> list[ast.Call]:
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
