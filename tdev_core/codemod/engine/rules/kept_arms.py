"""Leaves what a question opens that stays CUDA's, because kernels are behind it: only CUDA gets there."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import enclosing_function
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


def arms_of_kept_answers(file: File) -> None:
    """Leave what a function of the file opens whose answer is a question that stays: ``if _is_cuda(device):``."""
    names = {
        home.name.value
        for node in file.tree.of(cst.Comparison)
        if isinstance(_given_by(file, node), cst.Return)
        and (asked := asked_by(file, node)) is not None
        and not asked.denies
        and (stays := judge(file, asked).stays) is not None
        and stays.opens
        if (home := enclosing_function(file, node)) is not None
    }
    for choice in file.tree.of(cst.If, cst.IfExp) if names else ():
        asked = choice.test
        if (
            isinstance(asked, cst.Call)
            and file.tree.text(asked.func).removeprefix("self.") in names
        ):
            file.untouched.append(file.tree.span(choice.body))


def _given_by(file: File, node: cst.CSTNode) -> cst.CSTNode:
    """Return the statement that gives an answer, alone or with what else has to be true."""
    parent = file.tree.parents[node]
    while isinstance(parent, cst.BooleanOperation) and isinstance(parent.operator, cst.And):
        parent = file.tree.parents[parent]
    return parent


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
