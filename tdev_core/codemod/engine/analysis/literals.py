"""Reads what an expression says by its own text: a CUDA name, a device's name, a place in a default."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.analysis.tree import Tree
from tdev_core.codemod.engine.vocabulary import DEVICE_NAME, SETTINGS

CUDA_STRING = re.compile(r"cuda(:\d+)?\Z")
TENSOR_TYPE = re.compile(r"torch\.cuda\.\w+Tensor\Z")
_CUDA_FORMAT = re.compile(r"cuda:(%[ds]|\{[^{}]*\})\Z")
NAMES_DEVICE = re.compile(r"(?:auto|cpu|cuda|meta|mps|xpu|npu|hpu|mtia)(?::\d+)?\Z")
_HOLDS_SETTINGS = re.compile(rf"(^|_)({SETTINGS})$", re.IGNORECASE)
_OF_TENSORS = re.compile(r"(?:ids|mask|labels|values|embeds|states|features|tokens|inputs)\Z")
_DEVICE_WORD = re.compile(r"(^|_)devices?(_?(type|str|string|name))?(_|$)|^device|device$", re.I)


def in_default(tree: Tree, node: cst.CSTNode) -> bool:
    """Tell whether ``node`` is evaluated at import as a parameter's or a class attribute's default."""
    for parent in tree.ancestors(node):
        if isinstance(parent, cst.Param):
            return True
        if isinstance(parent, (cst.FunctionDef, cst.Lambda)):
            return False
        if isinstance(parent, cst.ClassDef):
            return True
    return False


def names_cuda(node: cst.CSTNode) -> bool:
    value = string_value(node)
    if value is not None:
        return CUDA_STRING.match(value) is not None
    if isinstance(node, cst.FormattedString):
        first = node.parts[0] if node.parts else None
        return (
            isinstance(first, cst.FormattedStringText)
            and first.value.rstrip(":") == "cuda"
            and len(node.parts) <= 2
        )
    if isinstance(node, cst.BinaryOperation):
        left = string_value(node.left)
        if isinstance(node.operator, cst.Modulo):
            return left is not None and _CUDA_FORMAT.match(left) is not None
        return isinstance(node.operator, cst.Add) and (left == "cuda:" or _joined(node.left))
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        text = string_value(node.func.value)
        return (
            node.func.attr.value == "format"
            and text is not None
            and _CUDA_FORMAT.match(text) is not None
        )
    return False


_OTHER_DEVICE = re.compile(r"(?:cpu|meta|mps|xpu|npu|hpu|mlu|musa|mtia|xla)(?::|\Z)")


def names_other_device(node: cst.CSTNode) -> bool:
    """Tell whether a string that is put together starts with another device's name: ``"mps:" + str(i)``."""
    if isinstance(node, cst.FormattedString) and node.parts:
        first = node.parts[0]
        return (
            isinstance(first, cst.FormattedStringText)
            and _OTHER_DEVICE.match(first.value) is not None
        )
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, (cst.Add, cst.Modulo)):
        return _OTHER_DEVICE.match(string_value(node.left) or "") is not None
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        text = string_value(node.func.value) if node.func.attr.value == "format" else None
        return _OTHER_DEVICE.match(text or "") is not None
    return False


def _joined(node: cst.CSTNode) -> bool:
    """Tell whether this is ``"cuda" + ":"``."""
    if not isinstance(node, cst.BinaryOperation) or not isinstance(node.operator, cst.Add):
        return False
    return string_value(node.left) == "cuda" and string_value(node.right) == ":"


def is_device_word(node: cst.CSTNode) -> bool:
    """Tell whether an expression calls itself a device: ``device``, ``args.device``, ``x.device.type``."""
    if isinstance(node, cst.Name):
        return _DEVICE_WORD.search(node.value) is not None
    if isinstance(node, cst.Attribute):
        if node.attr.value == "type":
            return is_device_word(node.value)
        return _DEVICE_WORD.search(node.attr.value) is not None
    if isinstance(node, cst.Call):
        func = node.func
        if isinstance(func, cst.Name) and func.value in ("str", "repr") and len(node.args) == 1:
            return is_device_word(node.args[0].value)
        if isinstance(func, cst.Attribute) and func.attr.value in (
            "lower",
            "strip",
            "split",
            "partition",
            "type",
            "casefold",
        ):
            return is_device_word(func.value)
        if isinstance(func, cst.Name) and func.value == "getattr" and len(node.args) > 1:
            name = string_value(node.args[1].value)
            if name == "type":
                return is_device_word(node.args[0].value)
            return name is not None and _DEVICE_WORD.search(name) is not None
        return False
    if isinstance(node, cst.Subscript) and len(node.slice) == 1:
        part = node.slice[0].slice
        if isinstance(part, cst.Index):
            name = string_value(part.value)
            if name is not None:
                return _DEVICE_WORD.search(name) is not None
        return is_device_word(node.value)
    return False


def is_typed_device(node: cst.CSTNode) -> bool:
    """Tell whether an expression is what a person typed as a device: ``args.device``, ``cfg["device"]``."""
    if isinstance(node, cst.Attribute):
        return DEVICE_NAME.search(node.attr.value) is not None and _holds_settings(node.value)
    if not isinstance(node, cst.Subscript) or len(node.slice) != 1:
        return False
    index = node.slice[0].slice
    key = string_value(index.value) if isinstance(index, cst.Index) else None
    return key is not None and DEVICE_NAME.search(key) is not None and _holds_settings(node.value)


def _holds_settings(node: cst.CSTNode) -> bool:
    """Tell whether an expression calls itself settings: ``args``, ``self.cfg``, ``config["train"]``.

    What a model is given under a tensor's name is none: ``kwargs["input_ids"]``.
    """
    if isinstance(node, cst.Subscript):
        index = node.slice[0].slice if len(node.slice) == 1 else None
        key = string_value(index.value) if isinstance(index, cst.Index) else None
        if key is None and isinstance(node.value, cst.Name) and node.value.value == "args":
            return False  # one of the arguments of a function
        return not _OF_TENSORS.search(key or "") and _holds_settings(node.value)
    last = node.attr if isinstance(node, cst.Attribute) else node
    return isinstance(last, cst.Name) and _HOLDS_SETTINGS.search(last.value) is not None
