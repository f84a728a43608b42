"""Asks ``device.type == "cuda"`` and ``x.is_cuda`` generically, where what they decide about is generic.

``device.type == torch.accelerator.current_accelerator().type``: where there is no accelerator,
``current_accelerator()`` is None and has no type, so ``torch.accelerator.is_available()`` stands before it,
unless the condition asks that already.
"""

from __future__ import annotations

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File, Question
from tdev_core.codemod.engine.rules.backend_questions import AVAILABILITY
from tdev_core.codemod.engine.rules.operands import asks_for_device
from tdev_core.codemod.engine.rules.tensors import is_tensor


def asks_for_type(file: File, node: cst.Comparison) -> cst.BaseExpression | None:
    """Return the operand of ``device.type == "cuda"`` (or ``!=``), which has a generic spelling."""
    target = node.comparisons[0]
    if len(node.comparisons) > 1 or not isinstance(target.operator, (cst.Equal, cst.NotEqual)):
        return None
    for one, other in ((node.left, target.comparator), (target.comparator, node.left)):
        if string_value(other) == "cuda" and isinstance(one, cst.Attribute):
            if one.attr.value == "type" and asks_for_device(file, one):
                return one
    return None


def spelling(file: File, question: Question, current: str | None) -> str | None:
    """Return the question as it is asked of any accelerator; None where it cannot be."""
    node, yes = question.node, question.yes
    if current is None or not question.said:
        return None
    if isinstance(node, cst.Comparison):
        operand = asks_for_type(file, node)
        asked = file.tree.text(operand) if operand is not None else ""
    else:
        known = file.flow.used_as_tensor(question.operand) or is_tensor(file, question.operand)
        asked = f"{file.tree.text(question.operand)}.device.type" if known else ""
    if not asked or "\n" in asked or file.scripted.holds(node):
        return None
    text = f"{asked} {'==' if yes else '!='} {current}.type"
    parent = file.tree.parents[node]
    bare = not isinstance(node, cst.Comparison)
    if is_asked_before(file, node):
        return f"({text})" if bare and _binds_tighter(parent) else text
    available = f"{current.rpartition('.')[0]}.is_available()"
    text = f"{available} and {text}" if yes else f"not {available} or {text}"
    mixed = (
        not yes
        and isinstance(parent, cst.BooleanOperation)
        and isinstance(parent.operator, cst.And)
    )
    outer = isinstance(parent, (cst.Comparison, cst.ComparisonTarget)) or _binds_tighter(parent)
    own = bool(node.lpar) and not bare
    return f"({text})" if (mixed or outer) and not own else text


def _binds_tighter(parent: cst.CSTNode) -> bool:
    return isinstance(
        parent,
        (
            cst.UnaryOperation,
            cst.BinaryOperation,
            cst.Comparison,
            cst.ComparisonTarget,
            cst.Attribute,
            cst.Subscript,
        ),
    )


def is_asked_before(file: File, node: cst.CSTNode) -> bool:
    """Tell whether the condition asks first whether there is an accelerator: ``… and x.type == …``.

    So does an ``if`` in whose arm it stands.
    """
    below = node
    for parent in file.tree.ancestors(node):
        if isinstance(parent, cst.If) and below is parent.body:
            if any(_is_answer(file, part) for part in _conjuncts(parent.test)):
                return True
        if isinstance(parent, (cst.FunctionDef, cst.ClassDef, cst.Lambda)):
            return False
        if not isinstance(parent, cst.BooleanOperation):
            below = parent
            continue
        if isinstance(parent.operator, cst.And) and below is parent.right:
            if any(_is_answer(file, part) for part in _conjuncts(parent.left)):
                return True
        below = parent
    return False


def _conjuncts(node: cst.BaseExpression) -> list[cst.BaseExpression]:
    if isinstance(node, cst.BooleanOperation) and isinstance(node.operator, cst.And):
        return _conjuncts(node.left) + _conjuncts(node.right)
    return [node]


def _is_answer(file: File, node: cst.BaseExpression) -> bool:
    if not isinstance(node, cst.Call):
        return False
    name = file.resolver.torch_name(node.func) or ""
    return name.replace("torch.accelerator", "torch.cuda") in AVAILABILITY
