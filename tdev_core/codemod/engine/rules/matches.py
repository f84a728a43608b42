"""``match x.device.type:`` with ``case "cuda":``, which no device but CUDA's falls into."""

from __future__ import annotations

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import names_other
from tdev_core.codemod.engine.rules.demands import has_kernels
from tdev_core.codemod.engine.rules.guards import guards_cuda_only
from tdev_core.codemod.engine.rules.operands import asks_for_device, without_index
from tdev_core.codemod.engine.rules.other_runtimes import imports_a_runtime

__all__ = ["as_question"]


def as_question(file: File, value: cst.MatchValue) -> str | None:
    """Spell the pattern ``"cuda"`` as one that asks; None where it has to stay.

    It stays beside patterns for other accelerators, in a pattern of several, with a guard of its own, where what is matched
    is computed (it would be so twice), and where the case holds what CUDA alone can run.
    """
    case = file.tree.parents[value]
    if not isinstance(case, cst.MatchCase) or case.guard is not None:
        return None
    match = file.tree.parents[case]
    if not isinstance(match, cst.Match) or file.options.style == "accelerator":
        return None
    subject = match.subject
    if not _is_dotted(subject) or not asks_for_device(file, subject):
        return None
    if names_other(file, match) or imports_a_runtime(file):
        return None
    if has_kernels(file) or guards_cuda_only(file, value):
        return None
    exact = "" if without_index(file, subject) else ", exact=True"
    return f"_ if {file.here(value)}.is_accelerator({file.tree.text(subject)}{exact})"


def _is_dotted(node: cst.BaseExpression) -> bool:
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)
