"""Finds what a program says of CUDA, and what would not be so once a question is asked of any accelerator."""

from __future__ import annotations

import re

import libcst as cst

from tdev_core.codemod.engine.analysis.nodes import string_value
from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.arms import enclosing_function

# Strings, and comments, which may hold quotes of their own.
_STRING = re.compile(
    r"#[^\n]*|[rRfFbBuU]{0,2}(?:\"{3}.*?\"{3}|'{3}.*?'{3}|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')",
    re.DOTALL,
)
_CODE = re.compile(r"\{[^{}]*\}")
# A message, not a key: it says CUDA as a word, or asks for it by its name in torch.
_MESSAGE = re.compile(
    r"(?<![.\w:{])cuda(?![.\w:])|torch\.cuda\.|\bnvml\b|nvidia|(?-i:\bCUDA:)", re.IGNORECASE
)
# The help of an option: "Defaults to 'cuda' if CUDA is available."
_DESCRIBED = re.compile(
    r"^(?![ \t]*#)[^\n]*[\"'][^\n]*\b(?:if|when) CUDA is available", re.MULTILINE | re.IGNORECASE
)
# cuDNN in words, not the name of a setting: "causes cudnn errors".
_CUDNN = re.compile(r"\bcudnn\b(?![.\w])[^\n]*\w", re.IGNORECASE)
_LABEL = re.compile(r"cuda|nvidia", re.IGNORECASE)
# What is printed, and the label of a report: `add(output, "Has CUDA", …)`.
_PRINTING = r"(?:print|echo|log\w*|info|debug|warn\w*|error|critical|write|add|\w*append)"
_PRINTS = re.compile(rf"(?:^|\.){_PRINTING}\Z")


def line_that_lies(file: File, node: cst.CSTNode) -> int:
    """Return the line of a message that would be wrong once a question is asked of any accelerator; 0 for none.

    It stands in what the answer decides about, beside the answer where that is printed, kept under a key or
    in a row of a table, or where the variable is printed that keeps it.
    """
    below = node
    for parent in file.tree.ancestors(node):
        match parent:
            case cst.If() if below is parent.test:
                low, high = file.tree.span(parent)
                return (
                    _message(file, low, high) or _described(file, parent) or _of_cudnn(file, parent)
                )
            case cst.IfExp() if below is parent.test:
                if line := _message(file, *file.tree.span(parent)):
                    return line
            case cst.Call() if below is not parent.func:
                if _PRINTS.search(file.tree.text(parent.func)):
                    if line := _message(file, *file.tree.span(parent)):
                        return line
            case cst.Tuple() if _labelled(*(element.value for element in parent.elements)):
                return file.tree.position(file.tree.span(parent)[0])[0]
            case cst.DictElement() if below is parent.value and _labelled(parent.key):
                return file.tree.position(file.tree.span(parent)[0])[0]
            case cst.Assign():
                return _kept_under(file, parent, parent.targets[0].target)
            case cst.BaseSuite() | cst.BaseSmallStatement():
                return 0
            case _:
                pass
        below = parent
    return 0


def _labelled(*values: cst.BaseExpression) -> bool:
    return any(_LABEL.search(string_value(value) or "") for value in values)


def _kept_under(file: File, node: cst.Assign, target: cst.BaseExpression) -> int:
    """Return the line of what is said of an answer that is kept in a table, or in a variable that is printed."""
    if isinstance(target, cst.Subscript):
        keys = [e.slice.value for e in target.slice if isinstance(e.slice, cst.Index)]
        return file.tree.position(file.tree.span(node)[0])[0] if _labelled(*keys) else 0
    if not isinstance(target, cst.Name):
        return 0
    if target.value.startswith("is_cuda"):
        return file.tree.position(file.tree.span(node)[0])[0]
    # Read from the lines: what is printed is of no concern to the rules, and not in the tree.
    printed = re.compile(
        rf"^[ \t]*(?:\w+\.)*{_PRINTING}\((?=[^\n]*(?<![\w.]){target.value}\b)[^\n]*", re.MULTILINE
    )
    home = enclosing_function(file, node) or file.tree.module
    if isinstance(node.value, cst.IfExp) and (line := _described(file, node)):
        return line
    for said in _STRING.finditer(file.tree.source, *file.tree.span(home)):
        if "{" + target.value in said.group() and _LABEL.search(_CODE.sub("", said.group())):
            return file.tree.position(said.start())[0]
    for found in printed.finditer(file.tree.source, *file.tree.span(home)):
        if line := _message(file, *found.span()):
            return line
    return 0


def _described(file: File, node: cst.CSTNode) -> int:
    """Return the line of a description, in the function around a choice, that says what is chosen; 0 for none."""
    home = enclosing_function(file, node) or file.tree.module
    if (found := _DESCRIBED.search(file.tree.source, *file.tree.span(home))) is None:
        return 0
    return file.tree.position(found.end())[0]


def _of_cudnn(file: File, node: cst.CSTNode) -> int:
    """Return the line of a message or a comment, in the function around a choice, that is about cuDNN; 0 for none."""
    home = enclosing_function(file, node)
    for found in _STRING.finditer(file.tree.source, *file.tree.span(home)) if home else ():
        if _CUDNN.search(found.group()):
            return file.tree.position(found.start())[0]
    return 0


def _message(file: File, start: int, end: int) -> int:
    """Return the line of the first message between two offsets that says CUDA; 0 where there is none."""
    for found in _STRING.finditer(file.tree.source, start, end):
        text = _CODE.sub("", found.group())
        if text[0] != "#" and (" " in text.strip("\"' ") or "CUDA" in text):
            if _MESSAGE.search(text):
                return file.tree.position(found.start())[0]
    return 0
