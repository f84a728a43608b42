"""Reports what an accelerator without CUDA's words, or without its double precision, answers otherwise: no edit mends it."""

from __future__ import annotations

import ast
import re

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.kernels import KERNEL
from tdev_core.codemod.engine.rules.speaks_of_others import knows_mps
from tdev_core.codemod.engine.rules.strings import STRINGS

_OUT_OF_MEMORY = re.compile(r"cuda (?:error: )?out of memory", re.IGNORECASE)
_ON_MPS = "mps backend out of memory"
_LOOKS = frozenset({"startswith", "endswith", "search", "match", "find", "count"})
LOOKED_FOR = (
    'is looked for in an error: MPS says "MPS backend out of memory", and it is not caught there'
)
_DOUBLE = re.compile(r"\.double\(\)|\.to\(\s*(?:dtype[ \t]*=[ \t]*)?torch\.(?:float64|double)\s*\)")
_PLACES = re.compile(r"\bdevice\b|\.cuda\(")
_WHERE = re.compile(r"\bdevice\b|[\"']cuda")
_FETCHED = re.compile(r"\.(?:cpu|numpy|tolist|item)\(|\bcpu\b")
NO_DOUBLES = "a tensor on MPS has no double precision: this is a TypeError there"


def not_on_mps(file: File) -> None:
    """Report handlers that look for the words of CUDA's allocator, and tensors of a device that become doubles."""
    if file.options.program:
        return
    if "out of memory" in file.tree.source:
        _words_of_memory(file)
    if _DOUBLE.search(file.code) is not None:
        _doubles(file)


def _words_of_memory(file: File) -> None:
    tree = file.python
    if tree is None or any(_ON_MPS in text.lower() for _, _, text in file.texts):
        return
    for low, high, text in file.texts:
        if _OUT_OF_MEMORY.search(text) is not None and _is_looked_for(tree, tree.at((low, high))):
            if not _stays(file, low):
                file.find_at(STRINGS, low, f'"{text}" {LOOKED_FOR}', "note")


def _stays(file: File, at: int) -> bool:
    """Tell whether only CUDA comes there."""
    return any(low <= at < high for low, high in file.untouched)


def _is_looked_for(tree: PythonTree, node: ast.AST | None) -> bool:
    """Tell whether a text is looked for in another one: by itself, or as one of several."""
    if node is None:
        return False
    for parent in tree.ancestors(node):
        match parent:
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()]):
                return left is node
            case ast.Call(func=ast.Attribute(attr=attr)):
                return attr in _LOOKS
            case ast.comprehension():
                return True
            case ast.List() | ast.Tuple() | ast.Set():
                continue
            case _:
                return False
    return False


def _doubles(file: File) -> None:
    """Report the first of each function that is made of what the function has placed on a device, unless that is chosen for it and stays."""
    tree = file.python
    if tree is None or any("double precision" in f.message for f in file.findings.values()):
        return
    unable = file.options.tree.unable if file.options.tree is not None else frozenset()
    if knows_mps(file):
        return
    for function in tree.statements:
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        text = file.tree.source[slice(*tree.span(function))]
        if function.name in unable or not (_DOUBLE.search(text) and _PLACES.search(text)):
            continue
        placed = _placed_in(function)
        for call in ast.walk(function):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                if _DOUBLE.fullmatch(ast.unparse(call)[len(ast.unparse(call.func.value)) :]):
                    at = tree.span(call.func.value)[1]
                    if _is_placed(call.func.value, placed) and not _stays(file, at):
                        file.find_at(KERNEL, at + 1, NO_DOUBLES, "note")
                        break


def _placed_in(function: ast.AST) -> set[str]:
    """Return the variables and attributes that a function gives what it places on a device."""
    return {
        ast.unparse(target)
        for part in ast.walk(function)
        if isinstance(part, ast.Assign) and _is_placed(part.value, set())
        for target in part.targets
        if isinstance(target, (ast.Name, ast.Attribute))
    }


def _is_placed(node: ast.AST, placed: set[str]) -> bool:
    """Tell whether something is made or moved to what is called a device, or CUDA, or is made of what was; not what comes from there."""
    if _FETCHED.search(ast.unparse(node)) is not None:
        return False
    for part in ast.walk(node):
        match part:
            case ast.keyword(arg="device", value=value):
                if _WHERE.search(ast.unparse(value)) is not None:
                    return True
            case ast.Call(func=ast.Attribute(attr="cuda"), args=[]):
                return True
            case ast.Call(func=ast.Attribute(attr="to"), args=[where, *_]):
                if _WHERE.search(ast.unparse(where)) is not None:
                    return True
            case ast.Name() | ast.Attribute():
                if ast.unparse(part) in placed:
                    return True
            case _:
                pass
    return False
