"""Rewrites ``x.is_cuda`` of tensors, and reports that of objects that the file does not know."""

from __future__ import annotations

import libcst as cst

from tdev_core.codemod.engine.file import File, Question
from tdev_core.codemod.engine.rules._make import rule
from tdev_core.codemod.engine.rules.arms import ARMS
from tdev_core.codemod.engine.rules.demands import DEMAND, MET, NAME
from tdev_core.codemod.engine.rules.operands import short
from tdev_core.codemod.engine.rules.torchscript import left_to_script
from tdev_core.codemod.engine.rules.type_questions import asked_by, judge

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


def is_cuda_attributes(file: File) -> None:
    for node in file.tree.of(cst.Attribute):
        if node.attr.value != "is_cuda" or file.kept(node):
            continue
        if (asked := asked_by(file, node)) is None:
            continue
        judged = judge(file, asked)
        if (stays := judged.stays) is not None:
            rule = stays.rule or IS_CUDA
            unknown = stays.unknown
            if stays.said:
                file.find(rule, node, stays.said, stays.severity, unknown=unknown)
            if stays.rule is not None or stays.guards:
                file.questions.append(Question(node, True, node.value, ARMS))
        elif file.options.style == "accelerator":
            said = f"is_cuda of {short(file, node.value)} has no generic spelling"
            file.questions.append(Question(node, True, node.value, IS_CUDA, said))
        elif not (file.stays(node) or left_to_script(file, node, "a question about a device")):
            met = judged.demanded is not None and judged.demanded.is_met
            before = f"{file.here(node)}.{NAME if met else 'is_accelerator'}("
            inner = file.tree.outer_span(node.value)
            file.wrap(DEMAND if met else IS_CUDA, file.tree.span(node), before, inner, ")")
            if met:
                file.find(DEMAND, node, f"is_cuda is demanded; {MET}")
