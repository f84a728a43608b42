"""Leaves what a question opens that stays CUDA's, because kernels are behind it: only CUDA gets there."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import descendants, string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import decides_beside_other_arms, enclosing_function
from tdev_core.codemod.engine.rules.demands import demand
from tdev_core.codemod.engine.rules.early_exits import after_early_exit
from tdev_core.codemod.engine.rules.guards import guards_cuda_only, guards_full_autocast
from tdev_core.codemod.engine.rules.left_to_cuda import leave_the_rest
from tdev_core.codemod.engine.rules.operands import asks_for_device
from tdev_core.codemod.engine.rules.requests import is_a_request
from tdev_core.codemod.engine.rules.speaks_of_others import is_listed, leaves_out_others
from tdev_core.codemod.engine.rules.tensors import is_tensor


def kept_arms(file: File) -> None:
    """Leave the arms of comparisons and of ``is_cuda`` that guard code which only CUDA can run."""
    for node in file.tree.of(cst.Comparison, cst.Attribute, cst.Call):
        no = _denies(file, node)
        if no is None or file.kept(node):
            continue
        if isinstance(node, cst.Call):
            # Of a device's type: a word that starts so may have been asked for whatever is used.
            assert isinstance(node.func, cst.Attribute)
            if _is_type(node.func.value) and leaves_out_others(file, node):
                _leave(file, node, no)
            continue
        if isinstance(node, cst.Comparison) and is_a_request(file, node, node.left):
            continue  # a word, beside the question if that is there
        demanded = demand(file, node, negated=no)
        if demanded is not None:
            if demanded.verdict == "kept" and not demanded.skips:
                _leave(file, node, no)
                leave_the_rest(file, node, denied=no)
            continue
        if decides_beside_other_arms(file, node):
            _leave(file, node, no, arms=False)  # which are looked at for themselves
        elif (
            guards_cuda_only(file, node)
            or guards_full_autocast(file, node)
            or _is_unknown(file, node)
            or _is_listed(file, node)
            or leaves_out_others(file, node)
        ):
            _leave(file, node, no)


def arms_of_kept_answers(file: File) -> None:
    """Leave what a function of the file opens whose answer is a question that stays: ``if _is_cuda(device):``."""
    names = {
        home.name.value
        for node in file.tree.of(cst.Comparison)
        if isinstance(_given_by(file, node), cst.Return)
        and _denies(file, node) is False
        and leaves_out_others(file, node)
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


def _is_listed(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a comparison stays because a list of devices with CUDA in it is asked for as well."""
    return isinstance(node, cst.Comparison) and is_listed(file, node.left)


def _is_unknown(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a question is asked of what may not be a tensor or a device: it stays, until somebody says so."""
    if isinstance(node, cst.Comparison):
        return not asks_for_device(file, node.left)
    if not isinstance(node, cst.Attribute):
        return False
    return not (file.flow.used_as_tensor(node.value) or is_tensor(file, node.value))


def _denies(file: File, node: cst.CSTNode) -> bool | None:
    """Tell whether a question asks if a device is another than CUDA; None where it is none."""
    if isinstance(node, cst.Attribute):
        called = file.tree.parents[node]
        asks = node.attr.value == "is_cuda" and not isinstance(called, (cst.Call, cst.AssignTarget))
        return False if asks else None
    if isinstance(node, cst.Call):
        # `device.startswith("cuda")`
        func = node.func
        if not isinstance(func, cst.Attribute) or func.attr.value != "startswith":
            return None
        word = string_value(node.args[0].value) if len(node.args) == 1 else None
        return False if word == "cuda" and asks_for_device(file, func.value) else None
    if not isinstance(node, cst.Comparison) or len(node.comparisons) != 1:
        return None
    target = node.comparisons[0]
    if string_value(target.comparator) != "cuda":
        made = target.comparator
        if not isinstance(made, cst.Call) or _OF_CUDA.fullmatch(file.tree.text(made)) is None:
            return None
    if not (asks_for_device(file, node.left) or _is_type(node.left)):
        return None
    if isinstance(target.operator, (cst.Equal, cst.NotEqual)):
        return isinstance(target.operator, cst.NotEqual)
    return None


# `device == torch.device("cuda")`
_OF_CUDA = re.compile(r"(?:\w+\.)?device\(\s*[\"']cuda[\"']\s*\)")


def _is_type(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "type"


def _leave(file: File, question: cst.CSTNode, no: bool, arms: bool = True) -> None:
    below = question
    for parent in file.tree.ancestors(question):
        if isinstance(parent, cst.WithItem):
            file.untouched.append(file.tree.span(parent))
            return
        if isinstance(parent, (cst.If, cst.IfExp)):
            if below is parent.test and arms:
                _leave_arm(file, parent, no)
            return
        if isinstance(parent, cst.UnaryOperation) and isinstance(parent.operator, cst.Not):
            no = not no
        elif isinstance(parent, cst.BooleanOperation):
            # `a and cuda` opens for CUDA alone; so is what `a or not cuda` goes past.
            if isinstance(parent.operator, cst.Or) is not no:
                return
            if below is parent.left:
                file.untouched.append(file.tree.span(parent.right))
        elif isinstance(parent, cst.Call) and parent.func is not below:
            pass
        elif isinstance(parent, cst.Arg):
            pass
        elif isinstance(parent, cst.Assign):
            target = parent.targets[0].target
            if len(parent.targets) == 1 and isinstance(target, cst.Name) and not no and arms:
                _leave_opened_by(file, parent, target.value)
            return
        else:
            return
        below = parent


def _leave_arm(file: File, choice: cst.If | cst.IfExp, no: bool) -> None:
    if not no:
        file.untouched.append(file.tree.span(choice.body))
    elif isinstance(choice, cst.IfExp):
        file.untouched.append(file.tree.span(choice.orelse))
    elif isinstance(choice.orelse, cst.Else):
        file.untouched.append(file.tree.span(choice.orelse.body))
    elif choice.orelse is None and (later := after_early_exit(file, choice)) is not None:
        file.untouched.append(later)


def _leave_opened_by(file: File, kept_in: cst.Assign, name: str) -> None:
    """Leave what the variable opens that keeps the answer, or one that needs it: ``if use_cp:``, ``if use_cp and big:``.

    A variable that is bound again may open something else.
    """
    home = enclosing_function(file, kept_in)
    if home is None:
        return
    opened: dict[str, list[cst.If | cst.IfExp]] = {}
    needing: dict[str, list[str]] = {}
    bound: list[str] = []
    for node in descendants(home.body):
        if isinstance(node, cst.Assign):
            target = file.tree.text(node.targets[0].target)
            bound.append(target)
            if found := _FIRST_OF_ALL.match(file.tree.text(node.value)):
                needing.setdefault(found[1], []).append(target)
        elif isinstance(node, (cst.If, cst.IfExp)):
            if found := _FIRST_OF_ALL.match(file.tree.text(node.test)):
                opened.setdefault(found[1], []).append(node)
    names = [name]
    for each in names:
        if bound.count(each) != 1:
            continue
        names += [given for given in needing.get(each, ()) if given not in names]
        for choice in opened.get(each, ()):
            file.untouched.append(file.tree.span(choice.test))
            _leave_arm(file, choice, no=False)


# `use_several = use_cuda and several`
_FIRST_OF_ALL = re.compile(r"(\w+)(?:\s+and\s|\Z)")
