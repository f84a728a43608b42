"""Tells questions about the build and the architecture, which stay NVIDIA's, from those about a device."""

from __future__ import annotations

import ast
import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.python.statements import FUNCTIONS
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.survey import OF_NVIDIAS
from tdev_core.codemod.engine.vocabulary import NOTE

_BUILD_OR_ARCHITECTURE = re.compile(
    r"\bversion\.(?:cuda|hip)\b|\bget_device_capability\b|\bget_arch_list\b|\bcompute_capability\b"
    r"|\bget_device_properties\((?:[^()]|\([^()]*\))*\)\.(?:major|minor)\b|\ballow_tf32\b"
    # a function of the program's own that asks for it
    r"|\b\w*(?:cuda\w*_capab|capab\w*_cuda|compute_capab|device_capab)\w*\("
)
# What CUDA is asked whether it computes with, in a file that was written for MPS, too.
_NUMBERS = re.compile(r"\bis_bf16_supported\(")
_FOR_MPS = re.compile(r"\bbackends\.mps\b|[\"']mps(?::\d)?[\"']|\bis_(?:torch_)?mps_available\b")


def asks_for_the_build(file: File, node: cst.CSTNode) -> cst.BooleanOperation | None:
    """Return the condition in which a question stands beside one about the build or the architecture.

    ``x.is_cuda and torch.version.hip is None`` asks for NVIDIA's kernels, not for an accelerator.
    """
    found = None
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            text = file.tree.text(parent)
            if _BUILD_OR_ARCHITECTURE.search(text):
                found = parent
            elif _NUMBERS.search(text) and file.in_code(_FOR_MPS) is not None:
                found = parent
        elif isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite, cst.Lambda, cst.Arg)):
            break
    return found


_ROCMS = re.compile(r"\b(?:is|has)_?(?:rocm|hip)\w*\b|\bversion\.hip\b", re.IGNORECASE)


def beside_rocm(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a condition asks for the architecture where the build is ROCm's: ``is_rocm and capability >= (9, 4)``."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation) and _ROCMS.search(file.tree.text(parent)):
            return True
        if isinstance(parent, (cst.BaseSmallStatement, cst.BaseSuite)):
            return False
    return False


_TO_THE_COMPILER = r"-gencode\b|\bnvcc\b|\bTORCH_CUDA_ARCH_LIST\b"
_OF_NVIDIAS = re.compile(rf"{OF_NVIDIAS}|{_TO_THE_COMPILER}", re.IGNORECASE)
_TELLS = re.compile(r"capabilit", re.IGNORECASE)
_MAKES_A_NAME = re.compile(r"[\"']sm_?[\"'{]")


def asks_for_nvidias(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a function asks for the architecture by NVIDIA's own names for it, or by its tool: ``sm80``.

    Or ends in an error that tells of it: a device of no such architecture, which is (0, 0) to tdev, is not too old.
    """
    home = enclosing_function(file, node)
    if home is None:
        return False
    if _OF_NVIDIAS.search(NOTE.sub("", file.tree.text(home))) is not None:
        return True
    python = file.python
    asked = python.at(file.tree.span(node)) if python is not None else None
    if python is None or asked is None:
        return False
    around = (p for p in python.ancestors(asked) if isinstance(p, FUNCTIONS))
    return any(
        isinstance(each, ast.Raise) and _TELLS.search(ast.unparse(each)) is not None
        for each in ast.walk(next(around, asked))
    )


_VENDOR = r"[\"'](?:nvidia|amd|radeon|geforce|tesla|gfx)[\"']\s+in\s+"
_OF_A_DEVICE = re.compile(_VENDOR + r"(?:str\()?(?:\w+\.)*get_device_name\(", re.IGNORECASE)
_NAMED_DEVICE = re.compile(r"([\w.]+)[ \t]*(?::[^=\n]+)?=(?!=)[^\n=]*\bget_device_name\(")


def asks_for_the_vendor(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a vendor is looked for in the name of CUDA's device: ROCm's answers by CUDA's names, and no other.

    Of the question whether there is one, where that is beside it or in what it opens: ``if torch.cuda.is_available(): name = …``.
    Where none is asked, torch's own answer would be an error off CUDA.
    """
    if "get_device_name" not in file.tree.source:
        return False
    around = file.tree.parents[node]
    if isinstance(around, cst.Call) and file.tree.text(node).endswith("is_available"):
        choice = file.tree.parents[around]
        if isinstance(choice, cst.BooleanOperation):
            low, high = file.tree.span(choice)
        elif isinstance(choice, cst.If) and choice.test is around:
            low, high = file.tree.span(choice.body)
        else:
            return False
    elif _is_behind_the_question(file, node):
        low, high = file.tree.span(enclosing_function(file, node) or file.tree.module)
    else:
        return False
    text = file.code[low:high]
    return _OF_A_DEVICE.search(text) is not None or any(
        re.search(rf"{_VENDOR}{re.escape(found[1])}\b", text, re.IGNORECASE) is not None
        for found in _NAMED_DEVICE.finditer(text)
    )


def _is_behind_the_question(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a name is reached where CUDA has been asked for: in a choice by that, or beside it."""
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.If, cst.IfExp)):
            asked = file.tree.text(parent.test)
        elif isinstance(parent, cst.BooleanOperation):
            asked = file.tree.text(parent)
        else:
            continue
        if "cuda.is_available()" in asked:
            return True
    return False


def names_an_architecture(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a function makes NVIDIA's name of the architecture: ``"sm_" + str(properties.major)``."""
    home = enclosing_function(file, node)
    text = "" if home is None else file.tree.text(home)
    return ".major" in text and _MAKES_A_NAME.search(text) is not None


_QUESTION = re.compile(r"\.is_cuda\b|[\"']cuda[\"']|\bcuda\.is_available\b")


def beside_a_kept_question(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a condition around ``node`` stays, because it also asks for the build or the architecture."""
    whole = asks_for_the_build(file, node)
    return whole is not None and _QUESTION.search(file.tree.text(whole)) is not None
