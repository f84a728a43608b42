"""Knows the statements about CUDA that may stay beside generic ones, because they do nothing where there is no CUDA.

Settings of its libraries are such; and seeds of its generators, beside ``torch.manual_seed``, which seeds every
accelerator (https://docs.pytorch.org/docs/stable/generated/torch.manual_seed.html), also where a question for CUDA
guards nothing else.
"""

from __future__ import annotations

import ast
import re

from tdev_core.codemod.engine.file import File
from tdev_core.codemod.engine.rules.accelerator.rules import GAP

__all__ = ["settings"]

_SEEDS = re.compile(r"(?:torch\.)?cuda\.manual_seed(?:_all)?\(")
_LIBRARIES = re.compile(
    r"(?:(?:torch\.backends\.)?cudnn\.(?:benchmark|deterministic|enabled|allow_tf32)"
    r"|torch\.backends\.cuda\.matmul\.allow_\w+) = "
)
_ASKED = ("torch.cuda.is_available()", "cuda.is_available()")


def settings(file: File) -> None:
    """Find the settings, and let their questions stay. The seeds are reported with the other names that have no spelling."""
    python = file.python
    if python is None or "cu" not in file.tree.source:
        return
    seeded = "torch.manual_seed(" in file.tree.source

    def is_setting(node: ast.stmt) -> bool:
        text = ast.unparse(node)
        return _LIBRARIES.match(text) is not None or seeded and _SEEDS.match(text) is not None

    for node in ast.walk(python.module):
        if isinstance(node, (ast.Assign, ast.Expr)) and is_setting(node):
            file.settings.append(python.span(node))
        elif (
            isinstance(node, ast.If)
            and not node.orelse
            and ast.unparse(node.test) in _ASKED
            and all(map(is_setting, node.body))
        ):
            asked = python.span(node.test)
            file.settings.append(python.span(node))
            file.untouched.append(asked)
            file.find_at(
                GAP, asked[0], f"{ast.unparse(node.test)} guards what CUDA alone has, and stays"
            )
