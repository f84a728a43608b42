"""Tells what a comparison with CUDA's name asks about: a device, or some other business."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.kinds import Kind
from tdev_core.codemod.engine.analysis.literals import is_device_word
from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File


def asks_for_device(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an operand is a device, a device type or a device string."""
    if is_device_word(node):
        return True
    if isinstance(node, cst.Attribute) and node.attr.value == "type":
        kinds = file.flow.kinds(node.value)
        return (
            bool(kinds) and kinds <= {Kind.DEVICE, Kind.NONE} or _holds_a_device(file, node.value)
        )
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "str":
        return bool(node.args) and asks_for_device(file, node.args[0].value)
    if isinstance(node, cst.Name):
        bindings = file.scopes.of(node).lookup(node.value)
        return (
            bool(bindings)
            and all(b.value is not None and b.kind == "value" for b in bindings)
            and Kind.CUDA in file.flow.kinds(node)
            and file.flow.kinds(node) <= {Kind.CUDA, Kind.OTHER}
        )
    return file.flow.kinds(node) == {Kind.DEVICE}


def _holds_a_device(file: File, node: cst.CSTNode) -> bool:
    """Tell whether a name is given nothing but devices, those that are called so among them.

    ``d = torch.device(device) if isinstance(device, str) else device``, whose ``type`` is asked then.
    """
    if not isinstance(node, cst.Name):
        return False
    given = [b.value for b in file.scopes.of(node).lookup(node.value)]
    arms: list[cst.BaseExpression | None] = []
    for value in given:
        arms += [value.body, value.orelse] if isinstance(value, cst.IfExp) else [value]
    made = [file.flow.kinds(arm) == {Kind.DEVICE} if arm is not None else False for arm in arms]
    return any(made) and all(
        real or arm is not None and is_device_word(arm)
        for real, arm in zip(made, arms, strict=True)
    )


_BARE = re.compile(r"(^|_)type$|^type_")


def without_index(file: File, node: cst.CSTNode) -> bool:
    """Tell whether an operand certainly holds no index: ``device.type``, or a name that is given none.

    A parameter is given what its callers have, whatever its default is.
    """
    if _BARE.search(last_name(node)):
        return True
    if isinstance(node, cst.Subscript):  # str(device).split(":")[0]
        return isinstance(node.value, cst.Call) and last_name(node.value) in ("split", "partition")
    if isinstance(node, cst.Name):
        bindings = file.scopes.of(node).lookup(node.value)
        return bool(bindings) and all(
            b.value is not None and _plain(b.value) and not isinstance(b.node, cst.Param)
            for b in bindings
        )
    return False


def _plain(node: cst.CSTNode) -> bool:
    """Tell whether an expression is a string without an index, or a choice of such."""
    if isinstance(node, cst.IfExp):
        return _plain(node.body) and _plain(node.orelse)
    value = string_value(node)
    return value is not None and ":" not in value


def other_business(file: File, node: cst.CSTNode) -> bool:
    """Operands whose names say that no device is meant: paths, keys, file contents."""
    last = last_name(node).lower()
    return any(
        word in last
        for word in (
            "path",
            "file",
            "dir",
            "line",
            "text",
            "message",
            "msg",
            "environ",
            "argv",
            "url",
            "log",
            "output",
            "stdout",
            "keyword",
            "tag",
            "doc",
        )
    )


def last_name(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        return node.attr.value
    if isinstance(node, cst.Call):
        return last_name(node.func)
    if isinstance(node, cst.Subscript):
        return last_name(node.value)
    return ""


def short(file: File, node: cst.CSTNode) -> str:
    text = " ".join(file.tree.text(node).split())
    return text if len(text) <= 40 else text[:37] + "..."
