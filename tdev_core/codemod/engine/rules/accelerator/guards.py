"""Tells what needs an accelerator, and whether code is only reached where there is one."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import descendants
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.early_exits import after_early_exit

ADVICE = {
    "torch.cuda.manual_seed": "torch.manual_seed seeds every accelerator already",
    "torch.cuda.manual_seed_all": "torch.manual_seed seeds every accelerator already",
    "torch.cuda.amp.autocast": "use torch.autocast(device.type) of the device at hand",
    "torch.cuda.amp.GradScaler": "use torch.amp.GradScaler(device.type) of the device at hand",
}
# Without an accelerator torch.cuda's answer nothing or 0, where torch.accelerator's raise.
QUIET = frozenset(
    f"torch.cuda.{name}"
    for name in (
        "empty_cache",
        "max_memory_allocated",
        "max_memory_cached",
        "max_memory_reserved",
        "memory_allocated",
        "memory_cached",
        "memory_reserved",
        "memory_stats",
    )
)
_ANSWERS = frozenset({"torch.cuda.is_available", "torch.cuda.device_count"})
_SAYS_GPU = re.compile(r"cuda|accelerator|gpu", re.IGNORECASE)


def known(name: str, file: File) -> str | None:
    """Return the part of a dotted name that has a generic equivalent."""
    while name.count(".") >= 2:
        if name in file.names.accelerator:
            return name
        name = name.rpartition(".")[0]
    return None


def needs_an_accelerator(file: File, node: cst.CSTNode) -> bool:
    """Tell whether ``node`` is only reached where there is an accelerator, as far as its function tells.

    A test for it stands around it or before it, or the code beside it fails without one.
    """
    for parent in file.tree.ancestors(node):
        if isinstance(parent, (cst.If, cst.IfExp, cst.While)):
            if _SAYS_GPU.search(file.tree.text(parent.test)):
                return True
        elif isinstance(parent, cst.BooleanOperation):
            if _SAYS_GPU.search(file.tree.text(parent.left)):
                return True
        elif isinstance(parent, cst.With):
            if any(_SAYS_GPU.search(file.tree.text(item)) for item in parent.items):
                return True
        elif isinstance(parent, cst.ExceptHandler):
            if parent.type is not None and "OutOfMemory" in file.tree.text(parent.type):
                return True
        elif isinstance(parent, (cst.IndentedBlock, cst.Module)):
            if any(_demands(file, s, node) for s in parent.body):
                return True
        elif isinstance(parent, (cst.FunctionDef, cst.Lambda)):
            return False
    return False


def _demands(file: File, statement: cst.CSTNode, node: cst.CSTNode) -> bool:
    """Tell whether a statement beside ``node`` fails, or leaves the block, where there is no CUDA."""
    if isinstance(statement, cst.If):
        if file.tree.span(statement)[1] > file.tree.span(node)[0]:
            return False
        asked = _SAYS_GPU.search(file.tree.text(statement.test)) is not None
        return asked and after_early_exit(file, statement) is not None
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    if isinstance(statement.body[0], cst.Assert):
        return _SAYS_GPU.search(file.tree.text(statement)) is not None
    for part in descendants(statement):
        if isinstance(part, (cst.IfExp, cst.BooleanOperation, cst.Lambda)):
            return False
        if isinstance(part, cst.Call):
            name = file.resolver.torch_name(part.func)
            if name is None:
                continue  # `x.cuda()` will not fail any more: it becomes a move to no accelerator
            if name.startswith("torch.cuda.") and name not in QUIET | _ANSWERS | ADVICE.keys():
                return known(name, file) is not None
    return False
