"""Reports what an accelerator without CUDA's words, or without its double precision, answers otherwise: no edit mends it."""

from __future__ import annotations

import ast
import re

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.tree import PythonTree
from tdev_core.codemod.engine.rules.kernels import KERNEL
from tdev_core.codemod.engine.rules.strings import STRINGS

_OUT_OF_MEMORY = re.compile(r"cuda (?:error: )?out of memory", re.IGNORECASE)
_ON_MPS = "mps backend out of memory"
_LOOKS = frozenset({"startswith", "endswith", "search", "match", "find", "count"})
LOOKED_FOR = (
    'is looked for in an error: MPS says "MPS backend out of memory", and it is not caught there'
)
_DOUBLE = re.compile(r"\.double\(\)|\.to\(\s*(?:dtype[ \t]*=[ \t]*)?torch\.(?:float64|double)\s*\)")
_PLACES = re.compile(r"\bdevice\b|\.cuda\(")
_ON_THE_CPU = re.compile(r"\bcpu\b|\bnumpy\b|\bnp\.")


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
    """Report the first of each function that places something on a device, unless that is chosen for them and stays."""
    tree = file.python
    if any("double precision" in each.message for each in file.findings.values()):
        return
    unable = file.options.tree.unable if file.options.tree is not None else frozenset()
    for function in tree.statements if tree is not None else ():
        if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or tree is None:
            continue
        start, end = tree.span(function)
        text = file.code[start:end]
        if function.name in unable or _PLACES.search(text) is None:
            continue
        for found in _DOUBLE.finditer(text):
            line = file.tree.line_text(file.tree.position(start + found.start())[0])
            if _ON_THE_CPU.search(line) is None and not _stays(file, start + found.start()):
                said = f"{found[0][1:]} of a tensor on MPS is a TypeError, which has no double precision"
                file.find_at(KERNEL, start + found.start() + 1, said, "note")
                break
