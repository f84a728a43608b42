"""Finds what works on the CPU and on CUDA, and fails on other accelerators that torch has."""

from __future__ import annotations

import re
from pathlib import PurePath

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import enclosing_function
from tdev_core.codemod.engine.survey import is_for_tests

_COLLECTIVE = re.compile(
    r"\b(?:\w*dist|distributed)\.(?:all_\w+|broadcast\w*|reduce\w*|gather\w*|scatter\w*)"
    r"\(((?:[^()]|\([^()]*\))*)\)"
)
_INITIALIZED = re.compile(r"\b(?:\w*dist|distributed)\.is_(?:initialized|available)\(")
_DOUBLE = re.compile(r"\bfloat64\b|\.double\(\)|\btorch\.double\b")
# numpy's float64 stays in the host's memory.
_TORCHS_DOUBLE = re.compile(r"\btorch\.(?:double|float64)\b")


def why_elsewhere_fails(file: File, node: cst.CSTNode) -> str | None:
    """Why code that a question leaves on the CPU would fail on another accelerator, if it would.

    gloo works on the CPU and on CUDA alone (``Backend.backend_capability`` of torch/distributed/distributed_c10d.py,
    torch 2.13), and MPS has no float64.
    """
    home = enclosing_function(file, node)
    text = file.tree.source if home is None else file.tree.text(home)
    tested = home is not None and is_for_tests(PurePath(file.filename))
    if (_DOUBLE if tested else _TORCHS_DOUBLE).search(text):
        kind = "a test of" if tested else "code that works in"
        return f"stands in {kind} float64, which not every accelerator has"
    if home is None:
        return None
    collectives = " ".join(found[1] for found in _COLLECTIVE.finditer(text))
    if not collectives:
        return None
    why = "decides where a collective is computed, which not every accelerator can; left as it is"
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation) and _INITIALIZED.search(file.tree.text(parent)):
            return why
        if isinstance(parent, (cst.Assign, cst.If)):
            kept = _kept(file, parent)
            return why if any(_moved_by(name, text, collectives) for name in kept) else None
        if isinstance(parent, cst.BaseSuite):
            return None
    return None


def _kept(file: File, node: cst.Assign | cst.If) -> list[str]:
    """Return the names of variables that a choice is kept in."""
    text = file.tree.text(node if isinstance(node, cst.Assign) else node.body)
    return re.findall(r"^\s*(\w+)[ \t]*=(?!=)", text, re.MULTILINE)


def _moved_by(device: str, text: str, collectives: str) -> bool:
    """Tell whether a tensor that is made on, or moved to, a device is handed to a collective."""
    made = re.findall(rf"^[ \t]*(\w+)[ \t]*=(?!=)[^\n]*(?<![\w.]){device}\b", text, re.MULTILINE)
    return any(re.search(rf"(?<![\w.]){name}\b", collectives) for name in made)
