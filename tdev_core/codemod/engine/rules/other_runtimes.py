"""Finds what chooses a device for a package that runs without torch, and does not know every accelerator."""

from __future__ import annotations

import re
from functools import lru_cache

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.vocabulary import RUNTIMES

_OF_RAY = re.compile(
    r"(?<![a-z])ray(?:_\w+)?\.|\bresources_per_trial\b|\bnum_gpus_per_\w+|\btrialGpuNumber\b"
)
_RUNTIMES = rf"(?:{'|'.join(sorted(RUNTIMES))})"
_FROM_RUNTIME = re.compile(
    rf"^[ \t]*(?:from[ \t]+({_RUNTIMES})\b[\w.]*[ \t]+import[ \t]+\(?([^)\n#]+)|import[ \t]+({_RUNTIMES})\b(?:[ \t]+as[ \t]+(\w+))?)",
    re.MULTILINE,
)


# TensorFlow's and PaddlePaddle's: `"/gpu:0"`, `"gpu:0"`.
_OF_ANOTHER = re.compile(r"/?(?:device:)?gpu:\d+\Z", re.IGNORECASE)

# The distribution of one, which is another for each device: `"onnxruntime" + ("-gpu" if … else "")`.
_PACKAGE_OF_ANOTHER = re.compile(
    r"[fF]?[\"'](?:tensorflow|onnxruntime|paddlepaddle|faiss|mxnet)[-{\"']", re.IGNORECASE
)


def names_of_another_framework(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question chooses the device, or the distribution, of a framework beside torch, by its name for it."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.IfExp) and _OF_ANOTHER.match(string_value(parent.body) or ""):
            return True
        if isinstance(parent, (cst.FormattedString, cst.BinaryOperation)):
            return _PACKAGE_OF_ANOTHER.match(file.tree.text(parent)) is not None
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite, cst.Arg)):
            return False
    return False


def imports_a_runtime(file: File) -> bool:
    """Tell whether a file works with such a package, whose objects have a ``device`` that is a string."""
    return file.in_code(_FROM_RUNTIME, *RUNTIMES) is not None


@lru_cache(maxsize=4)
def _of_runtimes(source: str) -> frozenset[str]:
    """Return the names that a file imports from such packages."""
    names: set[str] = set()
    for imported in _FROM_RUNTIME.finditer(source):
        given = imported[2] or imported[4] or imported[3]
        names.update(part.split(" as ")[-1].strip() for part in given.split(","))
    return frozenset(names)


def handed_to_a_runtime(file: File, node: cst.CSTNode) -> str | None:
    """Return the callable of such a package that is told the device which a question chooses, if one is."""
    names = _of_runtimes(file.code) if imports_a_runtime(file) else frozenset()
    by_name = file.options.tree.runtimes if file.options.tree is not None else frozenset()
    if by_name and _is_typed(file, node):
        return ", ".join(sorted(by_name))
    if not names:
        return None
    callable_ = rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})(?:\.\w+)*"
    chosen = False
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.IfExp):
            chosen = True
        elif isinstance(parent, cst.Call) and chosen:
            if found := re.match(callable_ + r"(?=\()", file.tree.text(parent)):
                return found.group()
        elif isinstance(parent, (cst.Assign, cst.AnnAssign)) and chosen:
            target = parent.targets[0].target if isinstance(parent, cst.Assign) else parent.target
            home = enclosing_function(file, parent) or file.tree.module
            # A call of no concern to any rule is not in the tree.
            told = rf"({callable_})\((?:[^()]|\([^()]*\))*\bdevice[ \t]*=[ \t]*{re.escape(file.tree.text(target))}\b"
            found = re.search(told, file.tree.source[slice(*file.tree.span(home))])
            return found[1] if found is not None else None
        elif isinstance(parent, cst.BaseSuite):
            return None
    return None


def _is_typed(file: File, question: cst.CSTNode) -> bool:
    """Tell whether a question chooses the word that a command line has where none is typed: its ``default``."""
    chosen = False
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.IfExp):
            chosen = True
        elif isinstance(parent, cst.Call) and chosen:
            func = parent.func
            return isinstance(func, cst.Attribute) and func.attr.value == "add_argument"
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
    return False


def told_to_ray(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an answer is among the resources that a statement asks Ray for."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BaseSmallStatement):
            return _OF_RAY.search(file.tree.text(parent)) is not None
        if isinstance(parent, cst.BaseSuite):
            return False
    return False
