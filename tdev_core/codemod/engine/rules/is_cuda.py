"""Rewrites ``x.is_cuda`` of tensors, and reports that of objects that the file does not know."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.file import File, Question
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.architecture import asks_for_the_build
from tdev_core.codemod.engine.rules.arms import (
    ARMS,
    beside_what_stays,
    decides_beside_other_arms,
    enclosing_function,
)
from tdev_core.codemod.engine.rules.demands import DEMAND, MET, NAME, demand, has_kernels
from tdev_core.codemod.engine.rules.guards import guards_cuda_only
from tdev_core.codemod.engine.rules.operands import short
from tdev_core.codemod.engine.rules.speaks_of_others import (
    LEAVES_OUT,
    leaves_out_others,
    measured_for_others,
    said_of_others,
)
from tdev_core.codemod.engine.rules.tellings import (
    ONLY_TELLS,
    only_tells_of_cuda,
    why_it_pins,
)
from tdev_core.codemod.engine.rules.tensors import is_tensor
from tdev_core.codemod.engine.rules.torchscript import left_to_script

IS_CUDA = rule(
    "is-cuda",
    "`is_cuda` of tensors and of unknown objects",
    "warning",
    """
    `x.is_cuda` becomes `tdev.is_accelerator(x)` where the file shows that `x` is a tensor: it
    comes out of a torch function or of a tensor's method, is a module's parameter or buffer, an item of a
    list of tensors, or annotated `torch.Tensor`, as the result of a function of the file may be, is given to
    the `forward` of a module, or is asked in the same function what only a tensor answers (`x.shape`, `x.view(…)`, `isinstance(x, torch.Tensor)`).
    Anything else could be an object of the program's own with an attribute of that name, and is
    reported.
    """,
)


_FOREACH = re.compile(r"(?<![a-z])foreach\b(?!\s*\()")


def chooses_foreach(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question decides, beside an option, whether an optimizer takes torch's multi-tensor kernels.

    ``foreach is None and p.is_cuda``: torch's own list of devices for that default has not every accelerator.
    """
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.BooleanOperation):
            if _FOREACH.search(file.tree.text(parent)) is not None:
                return True
        elif isinstance(parent, cst.If):
            if below is not parent.orelse and _FOREACH.search(file.tree.text(parent.test)):
                return True
        elif isinstance(parent, cst.FunctionDef):
            return False
        below = parent
    return False


def _is_the_question(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a property ``is_cuda`` gives the answer of what it holds: who asks it is not known to have other arms."""
    home = enclosing_function(file, node)
    return not file.options.program and home is not None and home.name.value == "is_cuda"


def is_cuda_attributes(file: File) -> None:
    for node in file.tree.of(cst.Attribute):
        if node.attr.value != "is_cuda" or file.kept(node):
            continue
        parent = file.tree.parents[node]
        if isinstance(parent, (cst.AssignTarget, cst.AnnAssign, cst.Del)):
            continue
        if isinstance(parent, cst.Call) and parent.func is node:
            continue
        if decides_beside_other_arms(file, node):
            file.find(ARMS, node, "this test chooses between backends; left as it is")
            file.questions.append(Question(node, True, node.value, ARMS))
            continue
        if _is_the_question(file, node):
            file.find(ARMS, node, "this is the answer of an is_cuda of its own; left as it is")
            continue
        if beside_what_stays(file, node):
            file.find(ARMS, node, "stands beside a question that is left as it is")
            file.questions.append(Question(node, True, node.value, ARMS))
            continue
        if said_of_others(file, node) or measured_for_others(file, node):
            file.find(ARMS, node, "a comment speaks of other accelerators; left as it is")
            file.questions.append(Question(node, True, node.value, ARMS))
            continue
        demanded = demand(file, node) if file.options.style != "accelerator" else None
        if demanded is not None and demanded.verdict == "kept":
            file.find(IS_CUDA, node, f"is_cuda {demanded.why}; left as it is")
        elif demanded is not None and not demanded.skips:
            if left_to_script(file, node, "a question about a device"):
                continue
            inner = file.tree.outer_span(node.value)
            file.wrap(DEMAND, file.tree.span(node), f"{file.here(node)}.{NAME}(", inner, ")")
            file.find(DEMAND, node, f"is_cuda is demanded; {MET}")
        elif asks_for_the_build(file, node) is not None:
            file.find(
                IS_CUDA, node, "is_cuda stands beside a question about the build; left as it is"
            )
        elif (pins := why_it_pins(file, node)) is not None:
            file.find(IS_CUDA, node, f"is_cuda {pins}", "note")
        elif only_tells_of_cuda(file, node):
            file.find(IS_CUDA, node, ONLY_TELLS)
        elif guards_cuda_only(file, node) or has_kernels(file) or chooses_foreach(file, node):
            file.find(IS_CUDA, node, "is_cuda guards code that only CUDA can run; left as it is")
            file.questions.append(Question(node, True, node.value, ARMS))
        elif demanded is None and leaves_out_others(file, node):
            file.find(ARMS, node, f"is_cuda {LEAVES_OUT}")
        elif file.options.style != "accelerator" and (
            file.flow.used_as_tensor(node.value) or is_tensor(file, node.value)
        ):
            if left_to_script(file, node, "a question about a device"):
                continue
            before = f"{file.here(node)}.is_accelerator("
            inner = file.tree.outer_span(node.value)
            file.wrap(IS_CUDA, file.tree.span(node), before, inner, ")")
        elif file.options.style == "accelerator":
            said = f"is_cuda of {short(file, node.value)} has no generic spelling"
            file.questions.append(Question(node, True, node.value, IS_CUDA, said))
        else:
            text = short(file, node.value)
            name = file.tdev if file.options.style == "explicit" else "torch"
            file.find(
                IS_CUDA,
                node,
                f"is_cuda of {text}, which may not be a tensor; where it is one, write "
                f"{name}.is_accelerator({text})",
                unknown=True,
            )
