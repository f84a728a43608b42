"""A second, cheaper look at a file: does its code, not only its prose, concern a rule?

A file that mentions CUDA in comments and docstrings alone does not. One that does not mention it
at all matters only where it makes a device out of what a person typed (``torch.device(name)``,
``device=args.device``, ``device=0``) or loads a checkpoint; a ``device`` that a function is handed
was made by the file that does mention CUDA. One pass of a regular expression answers that in a
hundredth of the time that a concrete syntax tree takes. It may only say no where the rules would
find nothing; where it is about to say no of a file that does say CUDA, Python's own parser has
the last word.
"""

from __future__ import annotations

import ast
import re
import warnings
from typing import Literal

from tdev_core.codemod.engine.api import DEVICE_MADE, MENTIONS, Style

Concern = Literal["no", "device", "cuda"]
"""Nothing for the rules here; only a device of unknown name; CUDA itself."""

_WORDS = re.compile(MENTIONS)
_MADE = re.compile(DEVICE_MADE, re.IGNORECASE)
_PROSE = re.compile(
    r"#[^\n\r]*"
    r'|"""[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*"""'
    r"|'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''"
    r'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
    r"|'[^'\\\n]*(?:\\.[^'\\\n]*)*'",
    re.DOTALL,
)


def concern(source: str, style: Style = "explicit") -> Concern:
    """What the rules of this style could change or report in this file."""
    mentioned = _WORDS.search(source) is not None
    # The accelerator target knows generic spellings only for what names CUDA.
    if not mentioned and (style == "accelerator" or not _makes_a_device(source)):
        return "no"
    code = _PROSE.sub(_without_prose, source)
    if _WORDS.search(code) is not None or (mentioned and _mentioned_in_code(source)):
        return "cuda"
    return "device" if style != "accelerator" and _makes_a_device(code) else "no"


def _makes_a_device(text: str) -> bool:
    return "torch" in text and _MADE.search(text) is not None


def _without_prose(found: re.Match[str]) -> str:
    text = found.group()
    return "" if text[0] == "#" or text[:3] in ('"""', "'''") else text


def _mentioned_in_code(source: str) -> bool:
    """Python's own answer; True for what it cannot parse, which then goes on to the rules."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source.lstrip("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return True
    stack: list[ast.AST] = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue  # a docstring
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            text = ast.unparse(node)
        elif isinstance(node, ast.Attribute):
            text = node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            text = ""
        if text and _WORDS.search(text):
            return True
        stack.extend(ast.iter_child_nodes(node))
    return False
