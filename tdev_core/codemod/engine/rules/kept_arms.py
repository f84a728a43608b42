"""Leaves what a question opens that stays CUDA's, because kernels are behind it: only CUDA gets there."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.device_questions import questions_of_cudas
from tdev_core.codemod.engine.rules.guards import guards_cuda_only
from tdev_core.codemod.engine.rules.left_to_cuda import leave_what_it_opens
from tdev_core.codemod.engine.rules.speaks_of_others import is_listed, leaves_out_others
from tdev_core.codemod.engine.rules.type_questions import Asked, asked_by, judge


def kept_arms(file: File) -> None:
    """Leave what the questions for CUDA's type open that stay: only CUDA gets there."""
    for node in file.tree.of(cst.Comparison, cst.Attribute, cst.Call):
        if file.kept(node):
            continue
        if (asked := asked_by(file, node)) is not None:
            _by_its_type(file, asked)
        elif isinstance(node, cst.Comparison) and (no := _asks_for_cudas(file, node)) is not None:
            # `device == torch.device("cuda")`
            if guards_cuda_only(file, node) or leaves_out_others(file, node):
                leave_what_it_opens(file, node, denied=no)
        elif isinstance(node, cst.Comparison) and (no := _asks_for_none_beside(node)) is not None:
            leave_what_it_opens(file, node, denied=no)
    for made in file.tree.of(cst.Call):
        if file.resolver.torch_name(made.func) != "torch.device" or file.kept(made):
            continue
        for span, denied in questions_of_cudas(file, made):
            for node in file.tree.of(cst.Comparison):
                if file.tree.span(node) == span:
                    leave_what_it_opens(file, node, denied=denied)


def _by_its_type(file: File, asked: Asked) -> None:
    judged = judge(file, asked)
    if (stays := judged.stays) is None:
        # A list of devices is asked for as well, with CUDA in it.
        if judged.demanded is None and asked.compares and is_listed(file, asked.operand):
            leave_what_it_opens(file, asked.node, denied=asked.denies)
    elif stays.beside:
        leave_what_it_opens(file, asked.node, denied=asked.denies, arms=False)
    elif stays.opens:
        leave_what_it_opens(file, asked.node, denied=asked.denies)


# `torch.device("cuda")`
_OF_CUDA = re.compile(r"(?:\w+\.)?device\(\s*[\"']cuda[\"']\s*\)")


def _asks_for_cudas(file: File, node: cst.Comparison) -> bool | None:
    """Tell whether a comparison with CUDA's device asks if it is another; None where it is none."""
    target = node.comparisons[0]
    if len(node.comparisons) != 1 or not isinstance(target.operator, (cst.Equal, cst.NotEqual)):
        return None
    if _OF_CUDA.fullmatch(file.tree.text(target.comparator)) is None:
        return None
    return isinstance(target.operator, cst.NotEqual)


def _asks_for_none_beside(node: cst.Comparison) -> bool | None:
    """Tell whether a list that has CUDA and no other device of a machine's is asked in the negative; None where it is none.

    ``x.device.type not in ("cuda", "meta")``, which stays.
    """
    target = node.comparisons[0]
    several = target.comparator
    if len(node.comparisons) != 1 or not isinstance(target.operator, (cst.In, cst.NotIn)):
        return None
    if not isinstance(node.left, cst.Attribute) or node.left.attr.value != "type":
        return None
    if not isinstance(several, (cst.Tuple, cst.List, cst.Set)):
        return None
    names = {string_value(element.value) for element in several.elements}
    return isinstance(target.operator, cst.NotIn) if names == {"cuda", "meta"} else None
